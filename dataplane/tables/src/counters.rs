//! What the workers count: written by one worker each, read by anyone.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crossbeam_utils::CachePadded;

use crate::Outcome;

macro_rules! events {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal,)+) => {
        /// What is counted beside the outcomes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Event {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl Event {
            /// Every event, in the order of the counters.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The name in metrics, logs and the output of commands.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }
    };
}

events! {
    /// Frames received, and the host's probes.
    Received = "received",
    /// Frames sent to the network, those of the host included.
    Sent = "sent",
    /// Packets that were too big and left as fragments (D-8).
    Fragmented = "fragmented",
    /// Frames taken from the host interface.
    FromHost = "from_host",
    /// Frames of the host that could not be sent.
    FromHostDropped = "from_host_dropped",
    /// Packets whose entry was found.
    EntryHit = "entry_hit",
    /// Entries made.
    EntryCreated = "entry_created",
    /// Entries overwritten by a new connection of the same key.
    EntryReplaced = "entry_replaced",
    /// Live entries of one packet that gave way to others (T-19).
    EntryEvicted = "entry_evicted",
    /// Packets forwarded without an entry because the table was full (T-19).
    EntryDenied = "entry_denied",
    /// Entries not written because another worker was writing, or is on newer Tables.
    EntryContended = "entry_contended",
    /// First fragments remembered (S-6).
    FragmentFirst = "fragment_first",
    /// First fragments remembered in place of another that may still have been asked for.
    FragmentEvicted = "fragment_evicted",
    /// First fragments not remembered because other workers were writing.
    FragmentContended = "fragment_contended",
    /// Later fragments that had to wait for their first one.
    FragmentHeld = "fragment_held",
    /// Packets that had to wait for their next hop's Ethernet address.
    NextHopWaited = "next_hop_waited",
    /// ICMP messages of our own that were sent: too big, and echo replies.
    IcmpSent = "icmp_sent",
    /// The same, not sent because icmp_rate of them were.
    IcmpSuppressed = "icmp_suppressed",
    /// The same, not sent because the buffer or the transmit queue had no room.
    IcmpUnsent = "icmp_unsent",
    /// Reports of a smaller MTU on the way to a backend that were believed (S-7).
    PathMtuLowered = "path_mtu_lowered",
}

const EVENTS: usize = Event::ALL.len();

/// One worker's counters. Only that worker adds; it needs no read-modify-write.
#[derive(Debug)]
pub struct WorkerCounters {
    outcomes: [AtomicU64; Outcome::COUNT],
    events: [AtomicU64; EVENTS],
    held: AtomicU64,
    steps: AtomicU64,
    waiting: AtomicU64,
}

impl Default for WorkerCounters {
    fn default() -> Self {
        Self {
            outcomes: [const { AtomicU64::new(0) }; Outcome::COUNT],
            events: [const { AtomicU64::new(0) }; EVENTS],
            held: AtomicU64::new(0),
            steps: AtomicU64::new(0),
            waiting: AtomicU64::new(0),
        }
    }
}

impl WorkerCounters {
    /// Counts one packet's end.
    #[inline]
    pub fn end(&self, outcome: Outcome) {
        self.end_many(outcome, 1);
    }

    /// Counts `n` packets that ended alike.
    #[inline]
    pub fn end_many(&self, outcome: Outcome, n: u64) {
        add(&self.outcomes[outcome as usize], n);
    }

    /// Counts `n` of an event.
    #[inline]
    pub fn add(&self, event: Event, n: u64) {
        add(&self.events[event as usize], n);
    }

    /// How many packets ended so.
    pub fn outcome(&self, outcome: Outcome) -> u64 {
        self.outcomes[outcome as usize].load(Relaxed)
    }

    /// How often this happened.
    pub fn event(&self, event: Event) -> u64 {
        self.events[event as usize].load(Relaxed)
    }

    /// How many packets it holds now.
    pub fn held(&self) -> u64 {
        self.held.load(Relaxed) + self.waiting.load(Relaxed)
    }

    /// How many fragments the worker holds now: received, but not ended (D-7).
    #[inline]
    pub fn set_held(&self, packets: usize) {
        self.held.store(packets as u64, Relaxed);
    }

    /// The worker has taken a step, with packets or without: it is alive.
    #[inline]
    pub fn step_taken(&self) {
        add(&self.steps, 1);
    }

    /// How many packets wait at the worker for their next hop: the same.
    pub fn set_waiting(&self, packets: usize) {
        self.waiting.store(packets as u64, Relaxed);
    }
}

/// A relaxed load and store: there is one writer, and a reader may be a moment behind.
#[inline]
fn add(counter: &AtomicU64, n: u64) {
    counter.store(counter.load(Relaxed).wrapping_add(n), Relaxed);
}

/// The counters of all workers.
#[derive(Debug)]
pub struct Counters(Box<[CachePadded<WorkerCounters>]>);

impl Counters {
    /// Zeros for this many workers.
    pub fn new(workers: usize) -> Self {
        Self((0..workers).map(|_| CachePadded::default()).collect())
    }

    /// How many workers there are.
    pub fn workers(&self) -> usize {
        self.0.len()
    }

    /// The counters of one worker.
    pub fn worker(&self, index: usize) -> &WorkerCounters {
        &self.0[index]
    }

    /// How many packets ended so, over all workers.
    pub fn outcome(&self, outcome: Outcome) -> u64 {
        self.sum(|w| &w.outcomes[outcome as usize])
    }

    /// How often this happened, over all workers.
    pub fn event(&self, event: Event) -> u64 {
        self.sum(|w| &w.events[event as usize])
    }

    /// How many packets are held now, over all workers: what was received is the sum of the
    /// outcomes and of these.
    pub fn held(&self) -> u64 {
        self.sum(|w| &w.held) + self.sum(|w| &w.waiting)
    }

    /// How many steps each worker has taken: one that takes no more is stuck.
    pub fn steps(&self) -> impl Iterator<Item = u64> {
        self.0.iter().map(|w| w.steps.load(Relaxed))
    }

    /// The sum over all outcomes.
    pub fn ended(&self) -> u64 {
        Outcome::ALL.iter().map(|o| self.outcome(*o)).sum()
    }

    fn sum(&self, counter: impl Fn(&WorkerCounters) -> &AtomicU64) -> u64 {
        self.0.iter().map(|w| counter(w).load(Relaxed)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_add_up_over_workers() {
        let counters = Counters::new(2);
        counters.worker(0).end(Outcome::Forwarded);
        counters.worker(1).end(Outcome::Forwarded);
        counters.worker(1).end(Outcome::VipNoRule);
        counters.worker(1).add(Event::Received, 3);
        assert_eq!(counters.outcome(Outcome::Forwarded), 2);
        assert_eq!(counters.ended(), counters.event(Event::Received));
    }
}
