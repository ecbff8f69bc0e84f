//! The thread of a host interface.

use std::collections::{BTreeSet, VecDeque};
use std::io::ErrorKind;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tun_rs::{InterruptEvent, SyncDevice};

use super::allowance::Allowance;
use super::announce::{Announcer, Verdict};
use super::groups::Groups;
use super::{Frames, tag};

/// How long a frame from a worker waits at most when the thread was idle: queues have no way to
/// wake it, and a worker shall not make a system call.
const PAUSE: Duration = Duration::from_millis(1);

/// So many frames go one way before the other way is looked at.
const TURN: usize = 64;

/// So many frames of our own wait at most: more answers than that are for a flood of questions.
const WAITING: usize = 256;

/// What the control thread wants changed.
#[derive(Debug, Default)]
pub(super) struct News {
    pub(super) own: Option<Vec<IpAddr>>,
    pub(super) vips: Option<BTreeSet<IpAddr>>,
    pub(super) again: bool,
}

/// Frames from the device to the network and from the workers to the device.
pub(super) struct Mover<F> {
    pub(super) device: Arc<SyncDevice>,
    pub(super) frames: F,
    pub(super) vlan: u16,
    pub(super) announcer: Announcer,
    pub(super) allowance: Allowance,
    pub(super) news: Arc<Mutex<News>>,
    pub(super) groups: Groups,
    pub(super) undelivered: Arc<AtomicU64>,
    pub(super) stop: Arc<InterruptEvent>,
    pub(super) start: Instant,
    /// A frame without its tag.
    pub(super) scratch: Vec<u8>,
    /// Frames of our own, for the network.
    pub(super) waiting: VecDeque<Vec<u8>>,
}

impl<F: Frames> Mover<F> {
    pub(super) fn run(mut self) {
        while !self.stop.is_trigger() {
            let readable = self.device.wait_readable_intr_timeout(&self.stop, Some(PAUSE));
            self.hear();
            let moved = self.deliver() + self.say();
            let moved = moved + if readable.is_ok() { self.collect() } else { 0 };
            match readable.map_err(|error| error.kind()) {
                // Every buffer is on its way to the workers: the kernel's own queue has to wait.
                Ok(()) if moved == 0 => std::thread::sleep(PAUSE),
                Ok(()) | Err(ErrorKind::TimedOut | ErrorKind::Interrupted) => {}
                Err(_) => {
                    return tracing::error!("a host interface is gone; its traffic is dropped");
                }
            }
        }
    }

    fn hear(&mut self) {
        let News { own, vips, again } = std::mem::take(&mut *self.news.lock());
        if let Some(own) = own {
            self.announcer.set_own(own);
        }
        if let Some(vips) = vips {
            self.groups.set(&vips);
            self.announcer.set_vips(vips);
        }
        if again {
            self.announcer.again();
        }
    }

    /// What the workers have: to the kernel, or answered here.
    fn deliver(&mut self) -> usize {
        let now = self.start.elapsed();
        let most = self.allowance.at(now).min(TURN);
        let Self { device, frames, announcer, undelivered, scratch, waiting, .. } = self;
        let mut deliver = |frame: &[u8]| {
            let frame = tag::without(frame, scratch);
            match announcer.judge(frame, now) {
                Verdict::Answer(answer) if waiting.len() < WAITING => waiting.push_back(answer),
                Verdict::Answer(_) => {}
                Verdict::Host if device.send(frame).is_ok() => {}
                Verdict::Host => {
                    undelivered.fetch_add(1, Ordering::Relaxed);
                }
            }
        };
        let taken = (0..most).take_while(|_| frames.next(&mut deliver)).count();
        self.allowance.took(taken);
        taken
    }

    /// What we have to say ourselves.
    fn say(&mut self) -> usize {
        let Self { frames, announcer, waiting, vlan, start, .. } = self;
        if waiting.is_empty() {
            waiting.extend(announcer.due(start.elapsed(), TURN));
        }
        let mut said = 0;
        while let Some(frame) = waiting.front() {
            let copy = |room: &mut [u8]| {
                room.get_mut(..frame.len())?.copy_from_slice(frame);
                Some(frame.len())
            };
            if !frames.send(&mut |buffer| tag::with(*vlan, buffer, copy)) {
                break;
            }
            waiting.pop_front();
            said += 1;
        }
        said
    }

    fn collect(&mut self) -> usize {
        let Self { device, frames, vlan, .. } = self;
        let mut fill = |buffer: &mut [u8]| tag::with(*vlan, buffer, |room| device.recv(room).ok());
        (0..TURN).take_while(|_| frames.send(&mut fill)).count()
    }
}
