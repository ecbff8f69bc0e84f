//! The task that keeps the mirror: socket → mirror → news, and the kernel's next hops resolved.

use std::io::{self, ErrorKind};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{AsyncSocket, AsyncSocketExt, TokioSocket};
use parking_lot::{Mutex, RwLock};
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use super::fact::Neighbour;
use super::keep::{Ask, Keeper};
use super::mirror::{Mirror, Request};
use super::notices::Notices;
use super::request;
use super::socket::{self, PIECE, Read};
use super::watch::{Found, Wanted, Watch};
use crate::model::Config;
use crate::plan::wiring::{self, Ways};

/// How long the first news waits for what comes with it: a routing daemon says much at a time.
const GATHER: Duration = Duration::from_millis(5);
/// How far apart news is: a next hop that flaps must not keep the control thread busy.
const APART: Duration = Duration::from_millis(20);
/// And so many times as long as finding out what is news takes, with very many backends.
const EFFORT: u32 = 4;
/// How often next hops are looked after.
const ROUND: Duration = Duration::from_millis(200);
/// How long until it is tried again when there is no socket.
const RETRY: Duration = Duration::from_secs(1);

/// What is known of the kernel, shared between the task and the control thread.
#[derive(Debug)]
pub struct Kernel {
    mirror: RwLock<Mirror>,
    wanted: Mutex<Wanted>,
    found: RwLock<Arc<Found>>,
    changed: Notify,
}

impl Kernel {
    /// Of these interfaces, by port; nothing is known.
    pub(super) fn new<S: Into<String>>(interfaces: impl IntoIterator<Item = S>) -> Self {
        Self {
            mirror: RwLock::new(Mirror::new(interfaces)),
            wanted: Mutex::default(),
            found: RwLock::default(),
            changed: Notify::new(),
        }
    }

    /// Where packets to an address go: as last told by the news; what is not wanted yet, as it is
    /// at this moment.
    pub fn ways(&self, config: &Config, address: IpAddr) -> Ways {
        let found = Arc::clone(&self.found.read());
        match found.ways(config, address) {
            Some(ways) => ways.clone(),
            None => wiring::ways(config, self.mirror.read().network(), address),
        }
    }

    /// From now on, the ways to these addresses are watched and their next hops kept resolved.
    pub fn want(&self, config: &Arc<Config>, addresses: impl IntoIterator<Item = IpAddr>) {
        let addresses = addresses.into_iter().collect();
        let mut wanted = self.wanted.lock();
        let version = wanted.version + 1;
        *wanted = Wanted { config: Some(Arc::clone(config)), addresses, version };
        drop(wanted);
        self.changed.notify_one();
    }
}

/// Mirrors these interfaces from now on, by port, in the network namespace of the runtime's
/// threads. `news` is called when the ways to what is wanted have changed.
pub fn follow<S: Into<String>>(
    runtime: &Handle,
    interfaces: impl IntoIterator<Item = S>,
    news: impl Fn() + Send + Sync + 'static,
) -> Arc<Kernel> {
    let kernel = Arc::new(Kernel::new(interfaces));
    let follower = Follower {
        kernel: Arc::clone(&kernel),
        watch: Watch::default(),
        keeper: Keeper::default(),
        notices: Notices::default(),
        start: Instant::now(),
        news,
    };
    runtime.spawn(follower.run());
    kernel
}

struct Follower<N> {
    kernel: Arc<Kernel>,
    watch: Watch,
    keeper: Keeper,
    notices: Notices,
    start: Instant,
    news: N,
}

impl<N: Fn()> Follower<N> {
    async fn run(mut self) {
        let mut said = false;
        loop {
            let error = match self.follow().await {
                Ok(never) => match never {},
                Err(error) => error,
            };
            // What was known goes on (D-12).
            if !std::mem::replace(&mut said, true) {
                tracing::error!("the kernel's routes and neighbours cannot be read: {error}");
            }
            sleep(RETRY).await;
        }
    }

    /// Ends only with a socket that is of no use any more.
    async fn follow(&mut self) -> io::Result<std::convert::Infallible> {
        let mut socket = TokioSocket::new(NETLINK_ROUTE)?;
        socket::hear(socket.socket_mut())?;
        let request = self.kernel.mirror.write().start();
        self.dump(&mut socket, Some(request)).await?;
        // It may hold many neighbours that an earlier socket asked for: asking again is harmless.
        self.keeper = Keeper::default();
        loop {
            self.gather(&mut socket).await?;
            let began = Instant::now();
            self.judge(&mut socket).await?;
            let apart = APART + began.elapsed() * EFFORT;
            self.take_until(&mut socket, Instant::now() + apart).await?;
        }
    }

    /// Waits for something to happen, or the time for a round, and a moment longer for more.
    async fn gather(&mut self, socket: &mut TokioSocket) -> io::Result<()> {
        let kernel = Arc::clone(&self.kernel);
        // It has happened already, since the last look.
        if self.watch.is_behind(&kernel.mirror.read()) {
            return self.take_until(socket, Instant::now() + GATHER).await;
        }
        tokio::select! {
            piece = receive(socket) => {
                let request = self.take(piece)?;
                self.dump(socket, request).await?;
            }
            () = kernel.changed.notified() => return Ok(()),
            () = sleep(ROUND) => return Ok(()),
        }
        self.take_until(socket, Instant::now() + GATHER).await
    }

    /// Takes what comes until a moment.
    async fn take_until(&mut self, socket: &mut TokioSocket, end: Instant) -> io::Result<()> {
        while let Some(left) = end.checked_duration_since(Instant::now()) {
            let Ok(piece) = timeout(left, receive(socket)).await else { break };
            let request = self.take(piece)?;
            self.dump(socket, request).await?;
        }
        Ok(())
    }

    fn take(&mut self, piece: io::Result<Vec<u8>>) -> io::Result<Option<Request>> {
        let mut mirror = self.kernel.mirror.write();
        let piece = match piece {
            Ok(piece) => piece,
            Err(error) if is_overrun(&error) => {
                tracing::info!("news of the kernel's routes was lost: all is read anew");
                // Of a dump on its way nothing is lost, and a second one would be refused.
                return Ok(mirror.doubt());
            }
            Err(error) => return Err(error),
        };
        let mut request = None;
        for read in socket::messages(&piece) {
            let next = match read {
                Read::Message(message) => {
                    self.notices.refusal(&message);
                    mirror.take(&message)
                }
                Read::NextHop => mirror.doubt(),
                Read::Unreadable => None,
            };
            request = next.or(request);
        }
        Ok(request)
    }

    async fn dump(&self, socket: &mut TokioSocket, request: Option<Request>) -> io::Result<()> {
        let Some(request) = request else { return Ok(()) };
        socket.send(&request::dump(request)).await.map(drop)
    }

    /// Finds out what has changed, says so, and asks for next hops.
    async fn judge(&mut self, socket: &mut TokioSocket) -> io::Result<()> {
        let wanted = self.kernel.wanted.lock().clone();
        let now = self.start.elapsed();
        let (found, asks) = {
            let mirror = self.kernel.mirror.read();
            let Some(network) = mirror.network() else { return Ok(()) };
            let found = self.watch.look(&wanted, &mirror);
            let fixed = |whom: &_| matches!(network.known(whom), Some(Neighbour::Fixed(_)));
            (found, self.keeper.asks(&self.watch.hops(network), fixed, now))
        };
        if let Some(found) = found {
            *self.kernel.found.write() = self.watch.found();
            (self.news)();
            self.notices.say(&found, now);
        }
        for ask in asks {
            let (whom, keep) = match ask {
                Ask::Keep(whom) => (whom, true),
                Ask::Release(whom) => (whom, false),
            };
            socket.send(&request::resolve(whom.0, whom.1, keep)).await?;
        }
        Ok(())
    }
}

async fn receive(socket: &mut TokioSocket) -> io::Result<Vec<u8>> {
    let mut piece = Vec::with_capacity(PIECE);
    loop {
        match socket.recv(&mut piece).await {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            done => return done.map(|_| piece),
        }
    }
}

/// ENOBUFS: more came than was read.
fn is_overrun(error: &io::Error) -> bool {
    const ENOBUFS: i32 = 105;
    error.raw_os_error() == Some(ENOBUFS)
}
