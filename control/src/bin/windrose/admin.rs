//! The control socket, wired: what the handlers need of the rest, and what the control thread has
//! to do with them.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use control::admin::desk::Desk;
use control::admin::picture::{Connections, Link, Picture, Pictures};
use control::admin::rates::Speed;
use control::admin::reloads::{Reloads, reloads};
use control::admin::request::{self, Answered, Asker, Inbox};
use control::admin::socket::{self, NoSocket, SocketFile};
use control::admin::{orders, routes, serve};
use control::model::Config;
use control::reload::{Controller, Kept};
use control::state::{Change, State};
use dataplane::track::ConnectionTable;
use tables::{Counters, Tables};
use tokio::sync::{Mutex, Semaphore};

use crate::background::Background;
use crate::checks::Checks;
use crate::events::{Event, Events};
use crate::listing::{Counted, Listing};
use crate::state_explain;

/// The socket, before anybody is served: taken early, so that two appliances do not start.
pub(crate) struct Claimed {
    listener: std::os::unix::net::UnixListener,
    file: SocketFile,
}

impl Claimed {
    /// `admin.socket`
    pub(crate) fn of(config: &Config) -> Result<Self, NoSocket> {
        let (listener, file) = socket::bind(Path::new(&config.admin.socket))?;
        Ok(Self { listener, file })
    }
}

/// The control thread's side.
pub(crate) struct Admin {
    pictures: Pictures,
    inbox: Inbox,
    reloads: Reloads,
    shown: Option<Duration>,
    _file: SocketFile,
}

/// What the handlers need of the rest.
pub(crate) struct Surroundings<'a> {
    pub start: Instant,
    pub file: &'a Path,
    pub counters: &'a Arc<Counters>,
    pub connections: &'a Arc<ConnectionTable>,
    pub checks: &'a Checks,
    pub state: &'a Arc<State>,
    pub tables: &'a Arc<Tables>,
}

impl Admin {
    const EVERY: Duration = Duration::from_millis(250);

    /// Starts to serve.
    pub(crate) fn start(
        claimed: Claimed,
        around: &Surroundings<'_>,
        events: &Events,
        background: &Background,
    ) -> std::io::Result<Self> {
        let bell = events.bell(Event::Asked);
        let (asker, inbox) = request::queue(move || bell.ring());
        let pictures = Pictures::new(first(around));
        let (reloads, reloader) = reloads(around.file, asker.clone(), pictures.clone());
        let desk = desk(around, asker, &pictures, &reloads);
        let runtime = background.handle();
        runtime.spawn(reloader.run());
        runtime.spawn(desk.speed.clone().watch(Arc::clone(&desk.counters), pictures.clone()));
        claimed.listener.set_nonblocking(true)?;
        let listener = {
            let _inside = runtime.enter();
            tokio::net::UnixListener::from_std(claimed.listener)?
        };
        runtime.spawn(serve::serve(listener, routes::all(Arc::new(desk))));
        Ok(Self { pictures, inbox, reloads, shown: None, _file: claimed.file })
    }

    /// Reads the file again, in the background.
    pub(crate) fn reload(&self) {
        self.reloads.nudge();
    }

    /// Carries out what was asked for; to be told once it is published.
    pub(crate) fn answer(&self, controller: &mut Controller, now: Duration) -> Answered {
        self.inbox.answer(controller, now)
    }

    /// Whether it is time to show again what changes by itself: links, connections.
    pub(crate) fn is_due(&mut self, now: Duration) -> bool {
        let due = self.shown.is_none_or(|at| now >= at + Self::EVERY);
        if due {
            self.shown = Some(now);
        }
        due
    }

    /// Shows how things stand.
    pub(crate) fn show(
        &self,
        state: &Arc<State>,
        tables: &Arc<Tables>,
        links: Vec<Link>,
        lagging: Vec<Arc<str>>,
        census: Option<&Arc<Counted>>,
    ) {
        self.pictures.publish(Picture {
            state: Arc::clone(state),
            tables: Arc::clone(tables),
            links,
            lagging,
            census: census.map(|counted| Arc::clone(counted) as _),
        });
    }
}

fn first(around: &Surroundings<'_>) -> Picture {
    Picture {
        state: Arc::clone(around.state),
        tables: Arc::clone(around.tables),
        links: Vec::new(),
        lagging: Vec::new(),
        census: None,
    }
}

fn desk(around: &Surroundings<'_>, asker: Asker, pictures: &Pictures, reloads: &Reloads) -> Desk {
    let table = Arc::clone(around.connections);
    let explain = move |picture: &Picture, question: &_, now| {
        state_explain::explain(&table, picture, question, now)
    };
    Desk {
        start: around.start,
        file: around.file.to_owned(),
        pictures: pictures.clone(),
        asker,
        reloads: reloads.clone(),
        counters: Arc::clone(around.counters),
        speed: Speed::default(),
        checks: Box::new(around.checks.rows()),
        connections: Arc::new(Listing(Arc::clone(around.connections))) as Arc<dyn Connections>,
        explain: Box::new(explain),
        heavy: Arc::new(Semaphore::new(Desk::HEAVY)),
        orders: Mutex::new(()),
    }
}

/// Brings the state under the orders that an earlier process has kept (T-18).
pub(crate) fn restore_orders(controller: &mut Controller) -> Option<Result<Tables, Kept>> {
    let path = controller.state().config().admin.orders.clone();
    match orders::load(&path) {
        Ok(orders) if orders.is_empty() => None,
        Ok(orders) => {
            tracing::info!(?orders, "the operator's orders of before the restart are in force");
            Some(controller.apply(&[Change::Orders(orders)], Duration::ZERO))
        }
        Err(why) => {
            tracing::error!("the operator's drains and disables are not known: {why}");
            None
        }
    }
}
