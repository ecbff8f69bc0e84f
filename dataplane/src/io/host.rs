//! Bounded queues of frames between the workers and the thread that owns a port's host interface
//! (D-11).
//!
//! Buffers are made once and go round: free → filled by one side → read by the other → free. So no
//! side allocates or waits, and a full queue is an answer and not a surprise. Any worker may use
//! either direction.
//!
//! ARP and neighbour discovery have a queue of their own towards the host, which is read in turn with
//! the other one. Else whoever floods a port's address from afar would have the kernel lose our next
//! hops, and our neighbours lose us: VIPs would go down with the host.

use std::sync::Arc;

use crossbeam_queue::ArrayQueue;

use super::Punt;

/// Makes the queues of one port: in each direction `frames` buffers of `bytes` bytes, and a quarter of
/// that for ARP and neighbour discovery.
pub fn queues(frames: usize, bytes: usize) -> (WorkerSide, HostSide) {
    let neighbours = Arc::new(Lane::new(frames.div_ceil(4), bytes));
    let to_host = Arc::new(Lane::new(frames, bytes));
    let to_network = Arc::new(Lane::new(frames, bytes));
    let worker = WorkerSide {
        neighbours: neighbours.clone(),
        to_host: to_host.clone(),
        to_network: to_network.clone(),
    };
    (worker, HostSide { neighbours, to_host, to_network, neighbours_next: true })
}

/// The workers' end; cheap to clone, one for each worker.
#[derive(Clone, Debug)]
pub struct WorkerSide {
    neighbours: Arc<Lane>,
    to_host: Arc<Lane>,
    to_network: Arc<Lane>,
}

/// The host thread's end.
#[derive(Debug)]
pub struct HostSide {
    neighbours: Arc<Lane>,
    to_host: Arc<Lane>,
    to_network: Arc<Lane>,
    /// Which of the first two is read next, if it has a frame.
    neighbours_next: bool,
}

impl WorkerSide {
    /// Copies a frame for the host.
    ///
    /// # Errors
    /// [`Punt::Full`] if no buffer is free, or the frame is larger than one.
    pub fn punt(&self, frame: &[u8]) -> Result<(), Punt> {
        let lane = if finds_neighbours(frame) { &self.neighbours } else { &self.to_host };
        let done = lane.put(|buffer| {
            buffer.get_mut(..frame.len())?.copy_from_slice(frame);
            Some(frame.len())
        });
        if done { Ok(()) } else { Err(Punt::Full) }
    }

    /// Reads the next frame that the host has for the network; None if there is none.
    pub fn next<T>(&self, read: impl FnOnce(&[u8]) -> T) -> Option<T> {
        self.to_network.take(read)
    }
}

impl HostSide {
    /// Reads the next frame that a worker has for the host; None if there is none.
    pub fn next<T>(&mut self, read: impl FnOnce(&[u8]) -> T) -> Option<T> {
        let neighbours = match self.neighbours_next {
            true => !self.neighbours.is_empty(),
            false => self.to_host.is_empty(),
        };
        self.neighbours_next = !neighbours;
        if neighbours { self.neighbours.take(read) } else { self.to_host.take(read) }
    }

    /// Lets `fill` write one frame for the network into a free buffer and say how long it is, or
    /// that there is none. False if there was none, or no buffer was free: then `fill` did not run.
    pub fn send(&mut self, fill: impl FnOnce(&mut [u8]) -> Option<usize>) -> bool {
        self.to_network.put(fill)
    }
}

/// Whether a frame, with or without a VLAN tag, is ARP, or neighbour discovery from its own link: that
/// has not been passed on by anybody (RFC 4861, 7.1), so that nobody far away makes such frames.
fn finds_neighbours(frame: &[u8]) -> bool {
    const ARP: [u8; 2] = [0x08, 0x06];
    const IPV6: [u8; 2] = [0x86, 0xDD];
    const ICMPV6: u8 = 58;
    const HOP_LIMIT: u8 = 255;
    let link = match frame.get(12..14) {
        Some([0x81, 0x00] | [0x88, 0xA8]) => 18,
        _ => 14,
    };
    let Some((header, ip)) = frame.split_at_checked(link) else { return false };
    match header.last_chunk() {
        Some(&ARP) => true,
        Some(&IPV6) => {
            let on_link = ip.get(6..8) == Some(&[ICMPV6, HOP_LIMIT]);
            on_link && matches!(ip.get(40), Some(133..=137))
        }
        _ => false,
    }
}

/// One direction, or a part of it.
#[derive(Debug)]
struct Lane {
    free: ArrayQueue<Buffer>,
    filled: ArrayQueue<Buffer>,
}

#[derive(Debug)]
struct Buffer {
    bytes: Box<[u8]>,
    length: usize,
}

impl Lane {
    fn new(frames: usize, bytes: usize) -> Self {
        let lane = Self { free: ArrayQueue::new(frames), filled: ArrayQueue::new(frames) };
        for _ in 0..frames {
            let buffer = Buffer { bytes: vec![0; bytes].into(), length: 0 };
            // There are as many buffers as each queue has places: none is ever full.
            drop(lane.free.push(buffer));
        }
        lane
    }

    fn is_empty(&self) -> bool {
        self.filled.is_empty()
    }

    /// A buffer that `fill` leaves without a frame goes back to the free ones.
    fn put(&self, fill: impl FnOnce(&mut [u8]) -> Option<usize>) -> bool {
        let Some(mut buffer) = self.free.pop() else { return false };
        let length = fill(&mut buffer.bytes);
        buffer.length = length.unwrap_or(0).min(buffer.bytes.len());
        let to = if length.is_some() { &self.filled } else { &self.free };
        to.push(buffer).is_ok() && length.is_some()
    }

    fn take<T>(&self, read: impl FnOnce(&[u8]) -> T) -> Option<T> {
        let buffer = self.filled.pop()?;
        let result = read(buffer.bytes.get(..buffer.length).unwrap_or_default());
        drop(self.free.push(buffer));
        Some(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_go_both_ways_in_order() {
        let (worker, mut host) = queues(4, 64);
        worker.punt(b"arp").unwrap();
        worker.punt(b"ping").unwrap();
        assert_eq!(host.next(<[u8]>::to_vec).unwrap(), b"arp");
        assert_eq!(host.next(<[u8]>::to_vec).unwrap(), b"ping");
        assert_eq!(host.next(<[u8]>::to_vec), None);

        assert!(host.send(|buffer| {
            buffer[..4].copy_from_slice(b"pong");
            Some(4)
        }));
        assert_eq!(worker.next(<[u8]>::to_vec).unwrap(), b"pong");
        assert_eq!(worker.next(<[u8]>::to_vec), None);
    }

    #[test]
    fn a_full_queue_refuses_until_a_frame_is_read() {
        let (worker, mut host) = queues(2, 64);
        assert_eq!([worker.punt(b"1"), worker.punt(b"2")], [Ok(()), Ok(())]);
        assert_eq!(worker.punt(b"3"), Err(Punt::Full));
        host.next(|_| ()).unwrap();
        assert_eq!(worker.punt(b"3"), Ok(()));
    }

    /// An Ethernet header with a tag or without, and what is behind its type.
    fn frame(tag: &[u8], kind: [u8; 2], rest: &[u8]) -> Vec<u8> {
        [&[2; 12][..], tag, &kind, rest].concat()
    }

    /// An IPv6 header and the first byte behind it.
    fn ipv6(next: u8, hops: u8, first: u8) -> Vec<u8> {
        [&[0x60, 0, 0, 0, 0, 24, next, hops][..], &[0; 32], &[first]].concat()
    }

    #[test]
    fn arp_and_neighbour_discovery_of_the_link_are_told_from_all_else() {
        let (arp, v4, v6) = ([0x08, 0x06], [0x08, 0x00], [0x86, 0xDD]);
        for tag in [&[][..], &[0x81, 0, 0, 10], &[0x88, 0xA8, 0, 0]] {
            let of = |kind, rest: &[u8]| finds_neighbours(&frame(tag, kind, rest));
            assert!(of(arp, &[0; 28]) && of(arp, &[]));
            assert!((133..=137).all(|kind| of(v6, &ipv6(58, 255, kind))));
            assert!(!of(v6, &ipv6(58, 254, 135)), "from afar");
            assert!(!of(v6, &ipv6(58, 255, 128)) && !of(v6, &ipv6(17, 255, 135)));
            assert!(!of(v6, &ipv6(58, 255, 135)[..40]), "cut");
            assert!(!of(v4, &ipv6(58, 255, 135)));
        }
        assert!((0..14).all(|length| !finds_neighbours(&frame(&[], arp, &[])[..length])));
        assert!(!finds_neighbours(&frame(&[0x81, 0], [0, 10], &[0x08])), "cut within the tag");
    }

    #[test]
    fn a_flood_of_either_kind_leaves_the_other_its_room_and_its_turn() {
        let (arp, other) = (frame(&[], [0x08, 0x06], &[]), frame(&[], [0x08, 0x00], &[]));
        for [flood, rare] in [[&other, &arp], [&arp, &other]] {
            let (worker, mut host) = queues(8, 64);
            while worker.punt(flood).is_ok() {}
            worker.punt(rare).unwrap();
            let mut read = || host.next(<[u8]>::to_vec).unwrap();
            assert!([read(), read()].contains(rare), "one of the first two");
            worker.punt(rare).unwrap();
            assert!([read(), read()].contains(rare), "and again");
            let left = std::iter::from_fn(|| host.next(<[u8]>::to_vec)).count();
            assert_eq!(left, if flood == &other { 6 } else { 0 });
            assert_eq!(host.next(<[u8]>::to_vec), None);
        }
    }

    #[test]
    fn a_frame_larger_than_a_buffer_is_refused_and_costs_no_buffer() {
        let (worker, mut host) = queues(1, 4);
        assert_eq!(worker.punt(b"large"), Err(Punt::Full));
        assert_eq!(worker.punt(b"fits"), Ok(()));
        assert_eq!(host.next(<[u8]>::len), Some(4));
    }

    #[test]
    fn a_host_that_has_nothing_after_all_keeps_the_buffer_free() {
        let (worker, mut host) = queues(1, 4);
        assert!(!host.send(|_| None));
        assert!(host.send(|_| Some(1)));
        assert!(!host.send(|_| unreachable!("no buffer is free")));
        assert_eq!(worker.next(<[u8]>::len), Some(1));
    }
}
