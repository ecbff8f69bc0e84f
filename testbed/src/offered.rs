//! New connections at a rate that does not wait for answers: an open loop, as many clients are.
//!
//! One thread, sockets that do not block. A machine that cannot keep up offers fewer, and the
//! figures say how many.

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, sockopt};
use rustix::time::Timespec;

use crate::error::{Context, Result};
use crate::netns::Namespace;

/// So many wait for an answer at most: what is due beyond is not offered.
const MOST: usize = 8_000;

/// What is offered.
#[derive(Clone, Copy, Debug)]
pub struct Offer {
    /// Port 80 of this.
    pub vip: IpAddr,
    /// Connections a second, one request each.
    pub rate: u32,
    /// How long each waits for its answer.
    pub patience: Duration,
}

/// One connection.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// When it was begun.
    pub begun: Instant,
    /// Until its answer, or until it failed.
    pub took: Duration,
    /// Who answered, or what became of it.
    pub answer: std::result::Result<String, String>,
}

impl Attempt {
    /// Whether a client that waits for so long got an answer.
    pub fn served_within(&self, patience: Duration) -> bool {
        self.answer.is_ok() && self.took <= patience
    }
}

/// Offers connections from a namespace for as long as `go_on` says, and waits for their ends.
///
/// # Errors
/// The system refuses what every connection needs.
pub fn offer(
    from: &Namespace,
    offer: Offer,
    go_on: impl Fn() -> bool + Send + Sync,
) -> Result<Vec<Attempt>> {
    from.enter(|| {
        let mut offering = Offering::new(offer)?;
        let began = Instant::now();
        while go_on() {
            offering.begin_due(began.elapsed());
            offering.serve()?;
        }
        while !offering.waiting.is_empty() {
            offering.serve()?;
        }
        Ok(offering.ended)
    })?
}

struct Offering {
    offer: Offer,
    epoll: OwnedFd,
    waiting: HashMap<u64, Waiting>,
    /// In the order in which their patience ends; those that have ended are passed over.
    order: VecDeque<u64>,
    /// How many were due so far.
    due: u64,
    ended: Vec<Attempt>,
}

struct Waiting {
    begun: Instant,
    socket: OwnedFd,
    asked: bool,
    answer: Vec<u8>,
}

impl Offering {
    fn new(offer: Offer) -> Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).context("an epoll")?;
        Ok(Self {
            offer,
            epoll,
            waiting: HashMap::new(),
            order: VecDeque::new(),
            due: 0,
            ended: Vec::new(),
        })
    }

    fn begin_due(&mut self, since: Duration) {
        let due = (since.as_secs_f64() * f64::from(self.offer.rate)) as u64;
        for id in std::mem::replace(&mut self.due, due)..due {
            if self.waiting.len() < MOST {
                self.begin(id);
            }
        }
    }

    fn begin(&mut self, id: u64) {
        let begun = Instant::now();
        match connecting(self.offer.vip, &self.epoll, id) {
            Ok(socket) => {
                let waiting = Waiting { begun, socket, asked: false, answer: Vec::new() };
                self.waiting.insert(id, waiting);
                self.order.push_back(id);
            }
            Err(error) => self.end(begun, Err(error.to_string())),
        }
    }

    /// Waits a little for what happens, and takes it.
    fn serve(&mut self) -> Result<()> {
        let mut events = Vec::with_capacity(256);
        let millisecond = Timespec { tv_sec: 0, tv_nsec: 1_000_000 };
        match epoll::wait(
            &self.epoll,
            rustix::buffer::spare_capacity(&mut events),
            Some(&millisecond),
        ) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error).context("waiting for sockets"),
        }
        events.iter().for_each(|event: &Event| self.advance(event.data.u64()));
        self.lose_patience();
        Ok(())
    }

    fn advance(&mut self, id: u64) {
        let Some(waiting) = self.waiting.get_mut(&id) else { return };
        let step = if waiting.asked {
            waiting.read()
        } else {
            waiting.ask(self.offer.vip, &self.epoll, id)
        };
        let answer = match step {
            Ok(None) => return,
            Ok(Some(name)) => Ok(name),
            Err(error) => Err(error.to_string()),
        };
        if let Some(waiting) = self.waiting.remove(&id) {
            self.end(waiting.begun, answer);
        }
    }

    fn lose_patience(&mut self) {
        while let Some(id) = self.order.front() {
            let patient = |w: &Waiting| w.begun.elapsed() < self.offer.patience;
            if self.waiting.get(id).is_some_and(patient) {
                break;
            }
            let lost = self.order.pop_front().and_then(|id| self.waiting.remove(&id));
            if let Some(waiting) = lost {
                let what =
                    if waiting.asked { "no answer in time" } else { "no connection in time" };
                self.end(waiting.begun, Err(what.into()));
            }
        }
    }

    fn end(&mut self, begun: Instant, answer: std::result::Result<String, String>) {
        self.ended.push(Attempt { begun, took: begun.elapsed(), answer });
    }
}

impl Waiting {
    /// Connected, or not: asks who is there.
    fn ask(&mut self, vip: IpAddr, epoll: &OwnedFd, id: u64) -> std::io::Result<Option<String>> {
        sockopt::socket_error(&self.socket)??;
        let request = format!("GET / HTTP/1.1\r\nHost: {vip}\r\n\r\n");
        rustix::net::send(&self.socket, request.as_bytes(), SendFlags::NOSIGNAL)?;
        self.asked = true;
        epoll::modify(epoll, &self.socket, EventData::new_u64(id), EventFlags::IN)?;
        Ok(None)
    }

    fn read(&mut self) -> std::io::Result<Option<String>> {
        let mut buffer = [0; 1024];
        let (_, read) = match rustix::net::recv(&self.socket, &mut buffer, RecvFlags::empty()) {
            Err(Errno::AGAIN) => return Ok(None),
            received => received?,
        };
        if read == 0 {
            return Err(std::io::Error::other("closed before the answer"));
        }
        self.answer.extend_from_slice(buffer.get(..read).unwrap_or_default());
        Ok(body(&self.answer))
    }
}

/// A line after the head: the backend's name.
fn body(answer: &[u8]) -> Option<String> {
    let answer = std::str::from_utf8(answer).ok()?;
    let (_, body) = answer.split_once("\r\n\r\n")?;
    Some(body.strip_suffix('\n')?.to_owned())
}

fn connecting(vip: IpAddr, epoll: &OwnedFd, id: u64) -> std::io::Result<OwnedFd> {
    let family = if vip.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
    // Closing resets: a source port in TIME_WAIT would be missing after half a minute.
    sockopt::set_socket_linger(&socket, Some(Duration::ZERO))?;
    match rustix::net::connect(&socket, &SocketAddr::new(vip, 80)) {
        Ok(()) | Err(Errno::INPROGRESS) => {}
        Err(error) => return Err(error.into()),
    }
    epoll::add(epoll, &socket, EventData::new_u64(id), EventFlags::OUT)?;
    Ok(socket)
}
