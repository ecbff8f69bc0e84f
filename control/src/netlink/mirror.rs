//! The mirror: messages in their order → the picture, and what to ask next. No socket inside.
//!
//! A dump goes step by step, one request at a time, on the socket that also brings the news, so
//! that both come in the order in which things happened. It fills a picture of its own; the old
//! one goes on, and takes the news too, until the dump is complete.

use netlink_packet_core::{NLM_F_DUMP_INTR, NLM_F_MULTIPART, NLM_F_REPLACE};
use netlink_packet_core::{NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;

use super::fact;
use super::network::Network;
use super::table::Effect;

/// A message of the kernel's.
pub type Message = NetlinkMessage<RouteNetlinkMessage>;

/// What is asked for, in this order: routes and neighbours are told apart by the links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dump {
    /// Interfaces.
    Links,
    /// Routing rules.
    Rules,
    /// IPv4 routes.
    RoutesV4,
    /// IPv6 routes.
    RoutesV6,
    /// Neighbours of both families.
    Neighbours,
}

impl Dump {
    const ALL: [Self; 5] =
        [Self::Links, Self::Rules, Self::RoutesV4, Self::RoutesV6, Self::Neighbours];
}

/// A request to be sent: all of this, under that sequence number.
pub type Request = (Dump, u32);

/// The mirror.
#[derive(Clone, Debug)]
pub struct Mirror {
    empty: Network,
    network: Network,
    /// A dump on its way: how far, and what it has told.
    dump: Option<(usize, Network)>,
    sequence: u32,
    /// What the dump on its way tells may be out of date.
    again: bool,
    complete: bool,
    /// Counts what has changed the picture.
    version: u64,
}

impl Mirror {
    /// Of these interfaces; see [`Network::new`].
    pub fn new<S: Into<String>>(interfaces: impl IntoIterator<Item = S>) -> Self {
        let empty = Network::new(interfaces);
        let network = empty.clone();
        Self { empty, network, dump: None, sequence: 0, again: false, complete: false, version: 0 }
    }

    /// Begins a dump on a new socket.
    pub fn start(&mut self) -> Request {
        self.dump = Some((0, self.empty.clone()));
        self.again = false;
        self.request(0)
    }

    /// Takes a message; what is to be asked next, if anything.
    pub fn take(&mut self, message: &Message) -> Option<Request> {
        let asked = self.dump.is_some() && message.header.sequence_number == self.sequence;
        let interrupted = message.header.flags & NLM_F_DUMP_INTR != 0;
        match &message.payload {
            NetlinkPayload::Done(_) | NetlinkPayload::Error(_) if asked => {
                self.again |= interrupted;
                return self.next();
            }
            NetlinkPayload::InnerMessage(inner) => {
                let part = asked && message.header.flags & NLM_F_MULTIPART != 0;
                self.again |= part && interrupted;
                let replaces = !part && message.header.flags & NLM_F_REPLACE != 0;
                self.inner(inner, part, replaces);
            }
            NetlinkPayload::Overrun(_) => self.again = true,
            _ => {}
        }
        self.renew()
    }

    /// News was lost, or something happened that the messages do not tell in full.
    pub fn doubt(&mut self) -> Option<Request> {
        self.again = true;
        self.renew()
    }

    /// The newest picture; says nothing until a dump has been completed.
    pub fn network(&self) -> Option<&Network> {
        self.complete.then_some(&self.network)
    }

    /// Another number than before: the ways to something may have changed.
    pub fn version(&self) -> u64 {
        self.version
    }

    fn renew(&mut self) -> Option<Request> {
        (self.again && self.dump.is_none()).then(|| self.start())
    }

    fn inner(&mut self, message: &RouteNetlinkMessage, part: bool, replaces: bool) {
        let Some(fact) = fact::of(message) else { return };
        if let Some((_, fresh)) = &mut self.dump {
            let effect = fresh.take(fact.clone(), replaces);
            if part {
                return;
            }
            self.again |= effect == Effect::Unclear;
        }
        let effect = self.network.take(fact, replaces);
        self.again |= effect == Effect::Unclear;
        self.version += u64::from(effect != Effect::Same);
    }

    fn next(&mut self) -> Option<Request> {
        let (step, _) = self.dump.as_mut()?;
        *step += 1;
        let step = *step;
        if step < Dump::ALL.len() {
            return Some(self.request(step));
        }
        if let Some((_, fresh)) = self.dump.take() {
            self.network = fresh;
            self.complete = true;
            self.version += 1;
        }
        self.renew()
    }

    fn request(&mut self, step: usize) -> Request {
        self.sequence = self.sequence.wrapping_add(1).max(1);
        (Dump::ALL[step], self.sequence)
    }
}
