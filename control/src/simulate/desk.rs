//! The desk: the worker that a simulation's packets go through.
//!
//! This crate does not know the dataplane; the binary implements [`Desk`] over a real worker with
//! ports in memory, so that the code that decides here is the code that decides in production.

use tables::{
    Flow, Key, Lifetime, Outcome, PacketClass, PortId, RuleId, ServiceId, SlotId, Tables, Tick,
};

/// One worker, its connection table, and the Tables that it reads.
pub trait Desk {
    /// Replaces the Tables; the next step reads them.
    fn publish(&mut self, tables: Tables);

    /// The Tables in force.
    fn tables(&mut self) -> &Tables;

    /// Lets one frame arrive at `port` and takes it the whole way at the moment `now`. `None`: it
    /// is held (a fragment that waits for its first).
    fn step(&mut self, port: PortId, frame: &[u8], now: Tick) -> Option<Report>;

    /// Those that were held and are no longer, since this was asked last: forwarded behind their
    /// first fragment, or dropped without one. In the order in which they left.
    fn released(&mut self) -> Vec<Report>;

    /// The entries that are live at `now` by the Tables in force.
    fn live(&mut self, now: Tick) -> Vec<LiveEntry>;

    /// Takes a connection of another process's table as known here, and seen now.
    fn adopt(&mut self, key: &Key, entry: LiveEntry, now: Tick);
}

/// What every stage has found out about one packet.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    /// How it ended; [`Outcome::Forwarded`] for one that was sent.
    pub outcome: Outcome,
    /// The rule that took it and that rule's service, `None` when no rule did.
    pub rule: Option<(RuleId, ServiceId)>,
    /// The backend that was decided on.
    pub slot: Option<SlotId>,
    /// Why that one.
    pub decision: Decision,
    /// What became of its entry.
    pub entry: EntryFate,
    /// Its class.
    pub class: PacketClass,
    /// Its five-tuple, as the parser read it.
    pub flow: Flow,
    /// Its datagram's identification, 0 where it has none.
    pub fragment_id: u32,
}

/// Why a packet goes where it goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Decision {
    /// Nothing was decided.
    #[default]
    Undecided,
    /// By its connection's entry (T-3).
    Tracked,
    /// By the selection hash (S-2).
    Selected,
    /// As its first fragment was (S-6).
    Fragment,
    /// An error: by the connection that it is about (S-7).
    Quoted,
}

/// What became of a packet's entry in the connection table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EntryFate {
    /// There is none and none was made.
    #[default]
    None,
    /// Found, live.
    Hit,
    /// Made; a dead or expired one may have been overwritten.
    Created,
    /// A live one was overwritten.
    Replaced,
}

/// A live entry, as far as it decides when it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveEntry {
    /// Its backend's slot.
    pub slot: SlotId,
    /// By which of the slot's epochs it lives.
    pub lifetime: Lifetime,
    /// That epoch when it was made.
    pub epoch: u32,
}
