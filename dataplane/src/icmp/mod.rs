//! ICMP in our own name: what a client must learn, and what we learn ourselves.
//!
//! In reading order:
//!
//! - this page: which packets are answered, after every other stage has had them;
//! - `answer`: the messages, written into the frame of the packet that they answer (D-8);
//! - `limit`: how many a second (N-3);
//! - `tunnel`: errors about our own outer headers, and `path`: the path MTUs learnt from them (S-7).
//!
//! Errors about a *connection* are not our own: they are forwarded (see [`crate::parse::Icmp`]).

mod answer;
mod limit;
mod path;
mod tunnel;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tables::counters::Event;
use tables::{Family, Outcome, Port, SlotId, Tables, Tick, WorkerCounters};

use crate::batch::{Batch, Packet};
use crate::io::{Frame, MAX_PORTS};
use crate::parse::{Fragment, Icmp};

use limit::Limit;
pub use path::{PathMtus, Paths};
pub use tunnel::is_about_tunnel;

/// The least MTU that IPv6 knows (RFC 8200).
const IPV6_MTU: u16 = 1280;

/// One worker's ICMP: what it has sent, and the path MTUs that all workers share.
#[derive(Clone, Debug)]
pub struct Messenger {
    paths: Arc<PathMtus>,
    limits: [Limit; MAX_PORTS],
    second: u32,
}

impl Messenger {
    /// For a clock with ticks of this length.
    pub fn new(paths: Arc<PathMtus>, tick: Duration) -> Self {
        let second = ticks(Duration::from_secs(1), tick);
        Self { paths, limits: [Limit::default(); MAX_PORTS], second }
    }

    /// What is known now of the ways to the backends.
    pub fn paths(&self, now: Tick) -> Paths<'_> {
        self.paths.at(now)
    }

    /// Answers the packets that have ended and must be: those that were too big for their way, and
    /// echo requests. Learns from errors about our own tunnels.
    pub fn stage<F: Frame>(
        &mut self,
        batch: &mut Batch<F>,
        tables: &Tables,
        now: Tick,
        counters: &WorkerCounters,
    ) {
        for packet in &mut batch.0 {
            match packet.outcome {
                Some(Outcome::TooBig) => self.too_big(packet, tables, now, counters),
                Some(Outcome::VipNoRule) if packet.parsed.icmp == Icmp::EchoRequest => {
                    self.echo(packet, tables, now, counters);
                }
                Some(Outcome::TunnelError) => self.tunnel_error(packet, tables, now, counters),
                _ => {}
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn too_big<F: Frame>(
        &mut self,
        packet: &mut Packet<F>,
        tables: &Tables,
        now: Tick,
        counters: &WorkerCounters,
    ) {
        let Some(port) = tables.ports.get(usize::from(packet.port.0)) else { return };
        if packet.parsed.length > port.mtu {
            packet.outcome = Some(Outcome::OversizeFrame);
        }
        let Some(mtu) =
            packet.slot.and_then(|slot| self.mtu(packet.parsed.flow.family(), slot, tables, now))
        else {
            return;
        };
        if is_answerable(packet) && self.allows(packet, port, now, counters) {
            let parsed = &packet.parsed;
            let (at, length) = (usize::from(parsed.l3), usize::from(parsed.length));
            let done = answer::too_big(&mut packet.frame, port, at..at + length, mtu);
            conclude(packet, done, counters);
        }
    }

    /// The largest packet of a family that a client may send through a backend's tunnel.
    fn mtu(&self, family: Family, slot: SlotId, tables: &Tables, now: Tick) -> Option<u16> {
        let template = tables.slots.template(slot, family)?;
        let mtu = self.paths(now).max_inner(slot, template, tables);
        Some(if family == Family::V6 { mtu.max(IPV6_MTU) } else { mtu })
    }

    #[cold]
    #[inline(never)]
    fn echo<F: Frame>(
        &mut self,
        packet: &mut Packet<F>,
        tables: &Tables,
        now: Tick,
        counters: &WorkerCounters,
    ) {
        let Some(port) = tables.ports.get(usize::from(packet.port.0)) else { return };
        let whole = packet.parsed.fragment == Fragment::Whole;
        let ours = port.answer_echo && tables.rules.is_vip(packet.parsed.flow.dst());
        if !whole || !ours || is_from_group(packet) {
            return;
        }
        if !self.allows(packet, port, now, counters) {
            packet.outcome = Some(Outcome::IcmpRateLimited);
            return;
        }
        let done = answer::echo(&mut packet.frame, &packet.parsed, port);
        packet.outcome = done.map(|()| Outcome::EchoAnswered).or(packet.outcome);
        conclude(packet, done, counters);
    }

    #[cold]
    #[inline(never)]
    fn tunnel_error<F: Frame>(
        &mut self,
        packet: &mut Packet<F>,
        tables: &Tables,
        now: Tick,
        counters: &WorkerCounters,
    ) {
        let slots = tables.backends.slots(packet.parsed.flow.src());
        let message = packet.frame.bytes().get(usize::from(packet.parsed.l4)..).unwrap_or_default();
        let mtu = tunnel::reported_mtu(message, packet.parsed.flow.family());
        let mut lowered = false;
        for slot in slots {
            match mtu {
                Some(mtu) => lowered |= self.paths.lower(*slot, mtu, tables, now),
                None => self.paths.count_error(*slot),
            }
        }
        counters.add(Event::PathMtuLowered, u64::from(lowered));
        if let (Some(_), [slot, ..]) = (mtu, slots) {
            self.translate(packet, *slot, tables, now, counters);
        }
    }

    /// Tells the client at once, where the quote says who it is: its packet is lost already. The
    /// answer goes to the router that reported, which knows a way to the client or drops it.
    fn translate<F: Frame>(
        &mut self,
        packet: &mut Packet<F>,
        slot: SlotId,
        tables: &Tables,
        now: Tick,
        counters: &WorkerCounters,
    ) -> Option<()> {
        let parsed = &packet.parsed;
        let message = usize::from(parsed.l4);
        let end = usize::from(parsed.l3) + usize::from(parsed.length);
        let (at, flow) = tunnel::inner(packet.frame.bytes().get(message..end)?)?;
        let port = tables.ports.get(usize::from(packet.port.0))?;
        let tells = tables.rules.is_claimed(flow.src()) && is_somebody(flow.dst());
        let mtu = self.mtu(flow.family(), slot, tables, now)?;
        if tells && !is_from_group(packet) && self.allows(packet, port, now, counters) {
            let inner = message + at..end;
            let done = answer::too_big(&mut packet.frame, port, inner, mtu);
            conclude(packet, done, counters);
        }
        Some(())
    }

    fn allows<F>(
        &mut self,
        packet: &Packet<F>,
        port: &Port,
        now: Tick,
        counters: &WorkerCounters,
    ) -> bool {
        let limit = self.limits.get_mut(usize::from(packet.port.0));
        let allowed = limit.is_some_and(|l| l.take(port.icmp_rate, self.second, now));
        counters.add(Event::IcmpSuppressed, u64::from(!allowed));
        allowed
    }
}

/// A time in ticks of this length, not less.
fn ticks(time: Duration, tick: Duration) -> u32 {
    let ticks = time.as_nanos().div_ceil(tick.as_nanos().max(1));
    u32::try_from(ticks).unwrap_or(u32::MAX >> 2)
}

/// Whether an error may answer the packet (RFC 1122 3.2.2, RFC 4443 2.4): never another error, a
/// fragment without its beginning, or what was sent to many. IPv4 only asks for one with "don't
/// fragment". Sources that are nobody's have ended before.
fn is_answerable<F: Frame>(packet: &Packet<F>) -> bool {
    let parsed = &packet.parsed;
    let begins = matches!(parsed.fragment, Fragment::Whole | Fragment::First);
    let is_error = matches!(parsed.icmp, Icmp::Error | Icmp::Quoting);
    parsed.dont_fragment
        && begins
        && !is_error
        && !is_from_group(packet)
        && !parsed.flow.dst().is_multicast()
}

/// Whether a packet can have this source.
fn is_somebody(address: IpAddr) -> bool {
    let everyone = matches!(address, IpAddr::V4(a) if a.octets()[0] == 0 || a.octets()[0] >= 224);
    !(everyone || address.is_multicast() || address.is_unspecified() || address.is_loopback())
}

/// An Ethernet source that nobody can have.
fn is_from_group<F: Frame>(packet: &Packet<F>) -> bool {
    packet.frame.bytes().get(6).is_none_or(|first| first & 1 != 0)
}

/// From here on the frame, if it was written, is an answer, and goes back.
fn conclude<F>(packet: &mut Packet<F>, done: Option<()>, counters: &WorkerCounters) {
    packet.answered = done.is_some();
    counters.add(Event::IcmpUnsent, u64::from(done.is_none()));
}
