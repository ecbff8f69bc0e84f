//! Bounded queues of frames between the workers and the thread that owns a port's host interface
//! (D-11).
//!
//! Buffers are made once and go round: free → filled by one side → read by the other → free. So no
//! side allocates or waits, and a full queue is an answer and not a surprise. Any worker may use
//! either direction.

use std::sync::Arc;

use crossbeam_queue::ArrayQueue;

use super::Punt;

/// Makes the queues of one port: in each direction `frames` buffers of `bytes` bytes.
pub fn queues(frames: usize, bytes: usize) -> (WorkerSide, HostSide) {
    let to_host = Arc::new(Lane::new(frames, bytes));
    let to_network = Arc::new(Lane::new(frames, bytes));
    let worker = WorkerSide { to_host: to_host.clone(), to_network: to_network.clone() };
    (worker, HostSide { to_host, to_network })
}

/// The workers' end; cheap to clone, one for each worker.
#[derive(Clone, Debug)]
pub struct WorkerSide {
    to_host: Arc<Lane>,
    to_network: Arc<Lane>,
}

/// The host thread's end.
#[derive(Debug)]
pub struct HostSide {
    to_host: Arc<Lane>,
    to_network: Arc<Lane>,
}

impl WorkerSide {
    /// Copies a frame for the host.
    ///
    /// # Errors
    /// [`Punt::Full`] if no buffer is free, or the frame is larger than one.
    pub fn punt(&self, frame: &[u8]) -> Result<(), Punt> {
        let done = self.to_host.put(|buffer| {
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
        self.to_host.take(read)
    }

    /// Lets `fill` write one frame for the network into a free buffer and say how long it is, or
    /// that there is none. False if there was none, or no buffer was free: then `fill` did not run.
    pub fn send(&mut self, fill: impl FnOnce(&mut [u8]) -> Option<usize>) -> bool {
        self.to_network.put(fill)
    }
}

/// One direction.
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
