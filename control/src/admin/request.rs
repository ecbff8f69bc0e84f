//! What only the control thread can do, in a bounded queue: changes of the state.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::Duration;

use tables::Tables;
use tokio::sync::oneshot;

use super::answer::Reloaded;
use crate::model::Config;
use crate::reload::{Controller, Kept};
use crate::state::{Change, State};

/// One request, and where its answer is awaited.
pub struct Request {
    what: What,
    reply: Reply,
}

type Reply = oneshot::Sender<Result<Done, Kept>>;

enum What {
    /// A new file, already checked; who asked hears when it is known whether it waits.
    Reload(Box<Config>, oneshot::Sender<()>),
    /// An order of the operator's.
    Order(Change),
    /// A reload begins or is over: for the log, and for who supervises the process.
    Told(Stage),
}

/// Where a reload is.
#[derive(Clone, Debug)]
pub enum Stage {
    /// The file is about to be read.
    Begins,
    /// What came of it.
    Ends(Arc<Reloaded>),
}

/// A request that was carried out.
#[derive(Clone, Debug)]
pub struct Done {
    /// The state before it.
    pub before: Arc<State>,
    /// The generation of the Tables behind it.
    pub generation: u64,
}

/// Why nothing was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unasked {
    /// Too many requests wait already.
    #[error("busy: too many requests wait already; try again in a moment")]
    Busy,
    /// The appliance is ending.
    #[error("windrose is stopping")]
    Stopping,
}

/// Where requests are put. Cloned for every asker.
#[derive(Clone)]
pub struct Asker {
    queue: SyncSender<Request>,
    ring: Arc<dyn Fn() + Send + Sync>,
}

/// Where the control thread takes them from.
pub struct Inbox(Receiver<Request>);

/// So many requests may wait.
const WAITING: usize = 32;

/// A queue; `ring` wakes the control thread.
pub fn queue(ring: impl Fn() + Send + Sync + 'static) -> (Asker, Inbox) {
    let (queue, inbox) = sync_channel(WAITING);
    (Asker { queue, ring: Arc::new(ring) }, Inbox(inbox))
}

/// An answer to come; an error: the appliance ended before it came.
pub type Answer = oneshot::Receiver<Result<Done, Kept>>;

/// A file that the control thread was given.
pub struct Submitted {
    /// What becomes of it.
    pub answer: Answer,
    /// Ends when the control thread has looked at the file: it is answered, or waits for first
    /// results, and one that waited before it is answered.
    pub seen: oneshot::Receiver<()>,
}

impl Asker {
    /// Asks for a new file.
    ///
    /// # Errors
    /// Too many requests wait, or the appliance is ending.
    pub fn reload(&self, config: Config) -> Result<Submitted, Unasked> {
        let (sees, seen) = oneshot::channel();
        let answer = self.ask(What::Reload(Box::new(config), sees))?;
        Ok(Submitted { answer, seen })
    }

    /// Gives an order.
    ///
    /// # Errors
    /// As [`Asker::reload`].
    pub fn order(&self, order: Change) -> Result<Answer, Unasked> {
        self.ask(What::Order(order))
    }

    /// Tells where a reload is.
    ///
    /// # Errors
    /// As [`Asker::reload`].
    pub fn tell(&self, stage: Stage) -> Result<(), Unasked> {
        self.ask(What::Told(stage)).map(drop)
    }

    fn ask(&self, what: What) -> Result<Answer, Unasked> {
        let (reply, answer) = oneshot::channel();
        self.queue.try_send(Request { what, reply }).map_err(|e| match e {
            TrySendError::Full(_) => Unasked::Busy,
            TrySendError::Disconnected(_) => Unasked::Stopping,
        })?;
        (self.ring)();
        Ok(answer)
    }
}

/// What the requests came to; nobody knows it before [`Answered::tell`].
#[derive(Default)]
#[must_use]
pub struct Answered {
    /// To be published, if anything has changed.
    pub tables: Option<Tables>,
    /// Files to be put into force.
    pub files: Vec<File>,
    /// Where reloads are, in order.
    pub reloads: Vec<Stage>,
    replies: Vec<(Reply, Result<Done, Kept>)>,
}

impl Answered {
    /// Tells the askers, once the Tables are published: an order is in force when it is answered.
    pub fn tell(self) {
        for (to, reply) in self.replies {
            // Who has gone does not want to know.
            let _ = to.send(reply);
        }
    }
}

/// A file that waits to be put into force. Whoever asked hears of it by [`File::end`].
pub struct File {
    /// What it says.
    pub config: Config,
    reply: Reply,
    sees: Option<oneshot::Sender<()>>,
}

/// While this is there whoever asked for the file does not ask for another.
pub struct Looking(
    #[expect(dead_code, reason = "what counts is that it goes")] Option<oneshot::Sender<()>>,
);

impl File {
    /// The control thread looks at it, for the first time or again.
    pub fn look(&mut self) -> Looking {
        Looking(self.sees.take())
    }

    /// It is in force and published, with Tables of this generation; or it is not, and why.
    pub fn end(self, before: Arc<State>, result: Result<u64, Kept>) {
        // Who has gone does not want to know.
        let _ = self.reply.send(result.map(|generation| Done { before, generation }));
    }
}

impl Inbox {
    /// Carries out the orders that wait, all of them as one change: a thousand cost one set of
    /// Tables. Hands out the files that wait.
    pub fn answer(&self, controller: &mut Controller, now: Duration) -> Answered {
        let mut answered = Answered::default();
        let mut orders = Vec::new();
        for Request { what, reply } in self.0.try_iter().take(WAITING) {
            match what {
                What::Order(order) => orders.push((order, reply)),
                What::Told(stage) => answered.reloads.push(stage),
                What::Reload(config, sees) => {
                    answered.files.push(File { config: *config, reply, sees: Some(sees) });
                }
            }
        }
        answered.orders(controller, orders, now);
        answered
    }
}

impl Answered {
    fn orders(&mut self, controller: &mut Controller, orders: Vec<(Change, Reply)>, now: Duration) {
        let before = Arc::clone(controller.state());
        let (mut good, mut replies) = (Vec::new(), Vec::new());
        for (order, reply) in orders {
            match before.understands(&order) {
                Ok(()) => {
                    good.push(order);
                    replies.push(reply);
                }
                Err(refused) => self.replies.push((reply, Err(refused.into()))),
            }
        }
        if good.is_empty() {
            return;
        }
        match controller.apply(&good, now) {
            // One that cannot be had with the others may be had without them.
            Err(_) if good.len() > 1 => {
                for (order, reply) in good.into_iter().zip(replies) {
                    let result = controller.apply(&[order], now);
                    self.keep(&before, result, vec![reply]);
                }
            }
            result => self.keep(&before, result, replies),
        }
    }

    fn keep(&mut self, before: &Arc<State>, result: Result<Tables, Kept>, replies: Vec<Reply>) {
        match result {
            Ok(tables) => {
                let done = Done { before: Arc::clone(before), generation: tables.generation };
                self.replies.extend(replies.into_iter().map(|to| (to, Ok(done.clone()))));
                self.tables = Some(tables);
            }
            Err(kept) => self.replies.extend(replies.into_iter().map(|to| (to, Err(kept.clone())))),
        }
    }
}
