//! The same frames through DPDK's buffers and through memory: the same packets come out, however
//! little room a buffer has and whatever was in it before.

#[path = "worker/pieces.rs"]
mod pieces;
#[expect(dead_code, reason = "made for whole workers in memory")]
#[path = "worker/rig.rs"]
mod rig;

use std::sync::Arc;

use arrayvec::ArrayVec;
use dataplane::batch::{BURST, Batch};
use dataplane::io::dpdk::{DeviceQueues, DpdkIo};
use dataplane::io::mem::{MemFrame, MemIo};
use dataplane::io::{Frame, Io};
use dataplane::worker::Worker;
use dpdk::{Eal, EalConfig, Mbuf, Mempool, PoolConfig, Port, PortConfig};
use etherparse::PacketBuilder;
use tables::counters::Event;
use tables::publish::Publisher;
use tables::{Outcome, PortId, Tables, Tick};

use pieces::{fragments, whole};
use rig::{OURS, ROUTER, Shared, VIP, tables, tcp};

const CLIENT: [u8; 4] = [198, 51, 100, 7];
/// So few that each is used many times.
const BUFFERS: u32 = 63;
const ROOM: u16 = 2048;

/// Ports that give back what is sent out of them: what a worker has sent is what it would receive
/// next.
trait Looped: Io {
    /// Puts a frame behind this many free bytes, into a port.
    fn put(&mut self, frame: &[u8], headroom: u16);
    /// Takes out what was sent.
    fn sent(&mut self) -> Vec<Vec<u8>>;
}

impl Looped for MemIo {
    fn put(&mut self, frame: &[u8], headroom: u16) {
        let frame = MemFrame::with_headroom(frame, headroom.into());
        self.ports[0].arriving.push_back(frame);
    }

    fn sent(&mut self) -> Vec<Vec<u8>> {
        self.ports[0].sent.drain(..).map(|frame| frame.bytes().to_vec()).collect()
    }
}

/// Of DPDK: one ring, and a pool of its own.
struct Ring {
    io: DpdkIo,
    pool: Mempool,
}

impl Ring {
    fn new() -> Self {
        let config = EalConfig { memory: 64, ..EalConfig::default() };
        let eal = Eal::start(&config).expect("DPDK starts");
        let config = PoolConfig { buffers: BUFFERS, room: ROOM, cache: 0 };
        let pool = Mempool::new(&eal, "buffers", &config).expect("memory");
        let mut port = Port::open(&eal, "net_ring0", &pool, &PortConfig::default()).expect("opens");
        let (rx, tx) = port.split().remove(0);
        let ring =
            Self { io: DpdkIo::new(vec![DeviceQueues::one(PortId(0), rx, tx, None)], pool), pool };
        ring.spoil();
        ring
    }

    /// Fills every buffer, headroom and all, with bytes that would show.
    fn spoil(&self) {
        let all: Vec<_> = std::iter::from_fn(|| self.pool.take()).collect();
        assert_eq!(all.len(), BUFFERS as usize);
        for mut mbuf in all {
            assert!(mbuf.extend(&[0xFF; ROOM as usize]));
            assert!(mbuf.move_start(Mempool::HEADROOM as isize));
            mbuf.bytes_mut().fill(0xFF);
        }
    }

    fn mbuf(&self, frame: &[u8], headroom: u16) -> Mbuf {
        let mut mbuf = self.pool.take().expect("a buffer");
        let claimed = usize::from(Mempool::HEADROOM - headroom);
        assert!(mbuf.move_start(claimed as isize));
        let (front, rest) = frame.split_at(claimed.min(frame.len()));
        mbuf.truncate(front.len());
        mbuf.bytes_mut().copy_from_slice(front);
        assert!(mbuf.extend(rest));
        assert_eq!(mbuf.headroom(), headroom);
        mbuf
    }
}

impl Io for Ring {
    type Frame = Mbuf;

    fn receive(&mut self, batch: &mut Batch<Mbuf>) {
        self.io.receive(batch);
    }

    fn transmit(&mut self, port: PortId, frames: &mut ArrayVec<Mbuf, BURST>) {
        self.io.transmit(port, frames);
    }

    fn copy(&mut self, pieces: &[&[u8]]) -> Option<Mbuf> {
        self.io.copy(pieces)
    }

    fn punt(&mut self, port: PortId, frame: Mbuf) -> Result<(), dataplane::io::Punt> {
        self.io.punt(port, frame)
    }

    fn forward_from_host(&mut self) -> (u64, u64) {
        self.io.forward_from_host()
    }
}

impl Looped for Ring {
    fn put(&mut self, frame: &[u8], headroom: u16) {
        let mut frames = ArrayVec::new();
        frames.push(self.mbuf(frame, headroom));
        self.transmit(PortId(0), &mut frames);
        assert!(frames.is_empty());
    }

    fn sent(&mut self) -> Vec<Vec<u8>> {
        let mut sent = Vec::new();
        loop {
            let mut batch = Batch::default();
            self.receive(&mut batch);
            if batch.0.is_empty() {
                return sent;
            }
            sent.extend(batch.0.iter().map(|packet| packet.frame.bytes().to_vec()));
        }
    }
}

/// Frames that end in every way that has to do with their buffers: long and short, padded, in
/// fragments, answered, dropped.
fn frames() -> Vec<Vec<u8>> {
    let [v4, v6] = [("198.51.100.7", "203.0.113.11"), ("2001:db8:1::7", "2001:db8:2::11")];
    let padded = |mut frame: Vec<u8>, length: usize| {
        frame.resize(length, 0xEE);
        frame
    };
    let echo = |payload: &[u8]| {
        let link = PacketBuilder::ethernet2(ROUTER.0, OURS.0);
        let mut frame = Vec::new();
        link.ipv4(CLIENT, VIP, 60).icmpv4_echo_request(1, 2).write(&mut frame, payload).unwrap();
        frame
    };
    let mut frames = vec![
        tcp(CLIENT, 40_000, 80, true, 0),
        tcp(CLIENT, 40_000, 80, false, 1440),
        padded(tcp(CLIENT, 40_000, 80, false, 0), 60),
        padded(whole(v4.0, v4.1, 53, true, 3), 400),
        tcp(CLIENT, 40_001, 80, false, 1441),
        tcp(CLIENT, 40_002, 80, false, 1900),
        echo(b"how are you?"),
        echo(&[0; 1400]),
        whole(v6.0, v6.1, 9, false, 100),
        whole(v6.0, v6.1, 9, true, 1453),
        tcp(CLIENT, 1, 81, true, 0),
        tcp(CLIENT, 1, 99, true, 0),
        tcp(CLIENT, 1, 80, true, 9)[..40].to_vec(),
    ];
    for (client, vip) in [v4, v6] {
        let mut pieces = fragments(&whole(client, vip, 77, false, 100), 5, 48);
        pieces.reverse();
        frames.extend(pieces);
    }
    frames
}

struct Side<I: Looped> {
    worker: Worker<I>,
    _publisher: Publisher<Tables>,
}

impl<I: Looped> Side<I> {
    fn new(io: I) -> Self {
        let shared = Arc::new(tables(&[1; 5], None));
        let publisher = Publisher::new(Arc::clone(&shared), 4);
        let worker = Shared::new(tables(&[1; 5], None)).worker(&publisher, io);
        Self { worker, _publisher: publisher }
    }

    /// One burst, what left, and all that was counted so far.
    fn burst(&mut self, frames: &[Vec<u8>], headroom: u16, now: Tick) -> (Vec<Vec<u8>>, Vec<u64>) {
        frames.iter().for_each(|frame| self.worker.io.put(frame, headroom));
        self.worker.step(now);
        let counters = &self.worker.counters;
        let outcomes = Outcome::ALL.iter().map(|outcome| counters.outcome(*outcome));
        let events = Event::ALL.iter().map(|event| counters.event(*event));
        (self.worker.io.sent(), outcomes.chain(events).chain([counters.held()]).collect())
    }
}

#[test]
fn a_packet_comes_out_the_same_whatever_buffer_it_is_in() {
    let ring = Ring::new();
    let pool = ring.pool;
    let (mut real, mut memory) = (Side::new(ring), Side::new(MemIo::new(1)));
    let frames = frames();
    for round in 0..100 {
        for headroom in [128, 54, 33, 28, 27, 20, 19, 1, 0] {
            for burst in frames.chunks(1 + round % 25) {
                let now = Tick(round as u32);
                let [got, expected] =
                    [real.burst(burst, headroom, now), memory.burst(burst, headroom, now)];
                assert_eq!(got, expected, "round {round}, {headroom} bytes of headroom");
            }
        }
    }
    let counters = &memory.worker.counters;
    for outcome in [Outcome::Forwarded, Outcome::TooBig, Outcome::EchoAnswered] {
        assert!(counters.outcome(outcome) > 800, "{}", outcome.name());
    }
    assert!(counters.event(Event::IcmpUnsent) > 100, "an answer had no room");
    assert_eq!(counters.outcome(Outcome::NoHeadroom), 0, "there always was a fresh buffer");
    drop(real);
    assert_eq!(pool.free(), BUFFERS, "every buffer is free again");
}
