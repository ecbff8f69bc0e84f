//! What a driver may hand up, over a ring in memory: chains of segments, a tag that was taken off,
//! notes about the packet. What comes out is one piece, and says nothing of the driver.

use std::sync::OnceLock;

use super::*;
use crate::{Eal, EalConfig, Mempool, PoolConfig, Port, PortConfig};

type Burst = ArrayVec<Mbuf, 32>;

const ROOM: usize = 2048;
const BUFFERS: u32 = 255;

/// DPDK starts once per process.
fn eal() -> &'static Eal {
    static EAL: OnceLock<Eal> = OnceLock::new();
    EAL.get_or_init(|| {
        Eal::start(&EalConfig { memory: 64, ..EalConfig::default() }).expect("DPDK starts")
    })
}

/// A ring of its own, and its pool.
struct Wire {
    pool: Mempool,
    rx: RxQueue,
    tx: TxQueue,
}

impl Wire {
    fn new(number: usize) -> Self {
        let config = PoolConfig { buffers: BUFFERS, room: ROOM as u16, cache: 0 };
        let pool = Mempool::new(eal(), &format!("queue{number}"), &config).expect("memory");
        let device = format!("net_ring{number}");
        let mut port = Port::open(eal(), &device, &pool, &PortConfig::default()).expect("opens");
        let (rx, tx) = port.split().remove(0);
        Self { pool, rx, tx }
    }

    fn mbuf(&self, bytes: &[u8]) -> Mbuf {
        let mut mbuf = self.pool.take().expect("a buffer");
        assert!(mbuf.extend(bytes));
        mbuf
    }

    /// A frame in segments of these lengths.
    fn chain(&self, lengths: &[usize]) -> Mbuf {
        let bytes = frame(lengths.iter().sum());
        let mut rest = &bytes[..];
        let mut segments = lengths.iter().map(|length| {
            let (segment, behind) = rest.split_at(*length);
            rest = behind;
            self.mbuf(segment)
        });
        let head = segments.next().expect("a first one");
        for tail in segments {
            // SAFETY: both are ours; the chain is the first one's from here on. It is no Mbuf by
            // the invariant until a queue has received it: nothing reads it before.
            assert_eq!(unsafe { dpdk_sys::shim_chain(head.raw(), tail.raw()) }, 0);
            std::mem::forget(tail);
        }
        head
    }

    /// Through the ring, as if a driver had made it.
    fn pass(&mut self, mbuf: Mbuf) -> Mbuf {
        let mut frames = Burst::new();
        frames.push(mbuf);
        assert_eq!(self.tx.send(&mut frames), 1);
        assert_eq!(self.rx.receive(&mut frames, 32), 1);
        frames.pop().expect("it came")
    }
}

fn frame(length: usize) -> Vec<u8> {
    (0..length).map(|i| (i * 7) as u8).collect()
}

fn is_one_piece(mbuf: &Mbuf) -> bool {
    let head = mbuf.head();
    head.nb_segs == 1 && head.pkt_len == u32::from(head.data_len)
}

#[test]
fn a_chain_that_fits_into_its_first_segment_comes_in_one_piece() {
    let mut wire = Wire::new(10);
    for lengths in [
        &[60, 1][..],
        &[14, 20, 20, 6],
        &[1, 1, 1, 1, 1, 1, 1, 1],
        &[64, 0, 64],
        &[1, ROOM - 1],
        &[ROOM - 1, 1],
        &[500, 500, 500, 500],
    ] {
        let got = wire.chain(lengths);
        let got = wire.pass(got);
        assert!(is_one_piece(&got), "{lengths:?}");
        assert_eq!(got.bytes(), frame(lengths.iter().sum()), "{lengths:?}");
        assert_eq!(got.headroom(), Mempool::HEADROOM, "{lengths:?}");
        assert_eq!(wire.pool.free(), BUFFERS - 1, "{lengths:?}: the others are free again");
    }
}

#[test]
fn a_chain_that_does_not_fit_is_cut_to_its_first_segment_and_leaks_nothing() {
    let mut wire = Wire::new(11);
    for lengths in [&[ROOM, 1][..], &[1500, 549], &[100, ROOM, 7], &[ROOM; 4]] {
        let got = wire.chain(lengths);
        let got = wire.pass(got);
        assert!(is_one_piece(&got), "{lengths:?}");
        assert_eq!(got.bytes(), frame(lengths[0]), "{lengths:?}");
        assert_eq!(wire.pool.free(), BUFFERS - 1, "{lengths:?}");
    }
}

#[test]
fn a_chain_in_a_burst_leaves_its_neighbours_alone() {
    let mut wire = Wire::new(12);
    let mut frames = Burst::new();
    frames.extend([wire.mbuf(&frame(60)), wire.chain(&[60, 40]), wire.mbuf(&frame(61))]);
    assert_eq!(wire.tx.send(&mut frames), 3);
    assert_eq!(wire.rx.receive(&mut frames, 32), 3);
    let lengths: Vec<_> = frames.iter().map(|mbuf| mbuf.bytes().len()).collect();
    assert_eq!(lengths, [60, 100, 61]);
    assert!(frames.iter().all(is_one_piece));
}

/// What a driver may have noted about a frame, and what may be left from when it was sent before.
fn scribble(mbuf: &mut Mbuf) {
    // SAFETY: a constant of the shim, never written.
    let keep = unsafe { dpdk_sys::shim_buffer_flags | dpdk_sys::shim_vlan_stripped };
    let head = mbuf.head_mut();
    head.ol_flags |= !keep;
    head.packet_type = u32::MAX;
    head.vlan_tci = 0xFFFF;
    head.vlan_tci_outer = 0xFFFF;
    head.hash = [u32::MAX; 2];
    head.port = 77;
}

#[test]
fn what_a_driver_noted_is_gone_when_a_frame_is_received() {
    let mut wire = Wire::new(13);
    for lengths in [&[60][..], &[60, 40], &[ROOM, 1]] {
        let mut mbuf = wire.chain(lengths);
        scribble(&mut mbuf);
        let got = wire.pass(mbuf);
        assert_eq!(
            got.head().ol_flags,
            0,
            "{lengths:?}: nothing is asked of the one that sends it"
        );
    }
}

#[test]
fn a_reused_buffer_knows_nothing_of_the_frame_before() {
    let wire = Wire::new(14);
    let all = |count: u32| -> Vec<Mbuf> {
        (0..count).map(|_| wire.pool.take().expect("a buffer")).collect()
    };
    for mut mbuf in all(BUFFERS) {
        assert!(mbuf.extend(&[0xEE; ROOM]));
        assert!(mbuf.move_start(100));
        scribble(&mut mbuf);
    }
    let chains = wire.chain(&[ROOM; 100]);
    // Freed with its segments, as a driver does that has sent it.
    drop(chains);
    for mbuf in all(BUFFERS) {
        let head = mbuf.head();
        assert!(is_one_piece(&mbuf));
        assert_eq!((head.ol_flags, head.vlan_tci, head.vlan_tci_outer), (0, 0, 0));
        assert_eq!((mbuf.bytes(), mbuf.headroom()), (&[][..], Mempool::HEADROOM));
        assert_eq!(usize::from(mbuf.tailroom()), ROOM);
    }
}

#[test]
fn a_tag_that_a_driver_took_off_is_back_in_the_frame() {
    let mut wire = Wire::new(15);
    let untagged = frame(60);
    let tagged = [&untagged[..12], &[0x81, 0x00, 0xE0, 0x07], &untagged[12..]].concat();
    for lengths in [&[60][..], &[20, 40]] {
        let mut mbuf = wire.chain(lengths);
        // SAFETY: a constant of the shim, never written.
        mbuf.head_mut().ol_flags |= unsafe { dpdk_sys::shim_vlan_stripped };
        mbuf.head_mut().vlan_tci = 0xE007;
        let got = wire.pass(mbuf);
        assert_eq!(got.bytes(), tagged, "{lengths:?}");
        assert_eq!(got.head().ol_flags, 0, "{lengths:?}");
        assert!(is_one_piece(&got), "{lengths:?}");
    }
}

#[test]
fn a_frame_without_headroom_keeps_its_place() {
    let mut wire = Wire::new(16);
    let mut mbuf = wire.pool.take().expect("a buffer");
    assert!(mbuf.move_start(Mempool::HEADROOM as isize));
    mbuf.bytes_mut().copy_from_slice(&frame(Mempool::HEADROOM.into()));
    let got = wire.pass(mbuf);
    assert_eq!((got.headroom(), got.bytes()), (0, &*frame(Mempool::HEADROOM.into())));
}
