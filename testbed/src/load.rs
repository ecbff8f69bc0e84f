//! Clients that go on while something else is done: connections that stay open, each of which must
//! keep its backend, and new ones all the time, each of which must be answered.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::address::vips;
use crate::client::{Connection, ask};
use crate::error::{Error, Result};
use crate::topology::Topology;

/// What they have done.
#[derive(Clone, Copy, Debug, Default)]
pub struct Figures {
    /// Connections that stayed open all the time.
    pub kept: usize,
    /// Requests over them.
    pub requests: usize,
    /// New connections, one request each.
    pub connections: usize,
    /// Segments that the client's kernel sent again: a lost packet is among them, and so is a slow
    /// answer on a busy machine.
    pub retransmitted: u64,
}

impl std::fmt::Display for Figures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { kept, requests, connections, retransmitted } = self;
        write!(
            f,
            "{requests} requests over {kept} connections that stayed open, {connections} over one \
             each; {retransmitted} segments sent again"
        )
    }
}

/// Between two requests.
const PAUSE: Duration = Duration::from_millis(1);

/// Does `work` under load, with `kept` connections open.
///
/// # Errors
/// A connection that broke or moved, or was refused, and when; the work's own.
pub fn during<T>(
    topology: &Topology,
    kept: usize,
    work: impl FnOnce() -> Result<T>,
) -> Result<(T, Figures)> {
    let before = retransmitted(topology)?;
    let over = &AtomicBool::new(false);
    let open = open(topology, kept)?;
    let (done, requests, connections) = std::thread::scope(|scope| {
        let began = Instant::now();
        let after = move |error: Error| {
            Error::Unexpected(format!("{:.1?} after the start: {error}", began.elapsed()))
        };
        let keeper = scope.spawn(move || keep(open, over).map_err(after));
        let asker = scope.spawn(move || ask_on(topology, over).map_err(after));
        let done = work();
        over.store(true, Ordering::Relaxed);
        let join = |result: std::thread::Result<Result<usize>>| {
            result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        (done, join(keeper.join()), join(asker.join()))
    });
    // A broken connection may be why the work failed.
    let (requests, connections, done) = (requests?, connections?, done?);
    let retransmitted = retransmitted(topology)?.saturating_sub(before);
    Ok((done, Figures { kept, requests, connections, retransmitted }))
}

/// A connection and the backend that has it.
type Kept = (Connection, String);

fn open(topology: &Topology, kept: usize) -> Result<Vec<Kept>> {
    let open = |vip| {
        let mut connection = Connection::open(&topology.client, vip)?;
        let backend = connection.who()?;
        Ok((connection, backend))
    };
    let vips: Vec<_> = vips().collect();
    vips.into_iter().cycle().take(kept).map(open).collect()
}

fn keep(mut open: Vec<Kept>, over: &AtomicBool) -> Result<usize> {
    let mut asked = 0;
    while !over.load(Ordering::Relaxed) {
        for (connection, backend) in &mut open {
            let now = connection.who()?;
            if now != *backend {
                return Err(Error::Unexpected(format!(
                    "an open connection to {backend} is at {now}"
                )));
            }
            asked += 1;
            std::thread::sleep(PAUSE);
        }
    }
    Ok(asked)
}

fn ask_on(topology: &Topology, over: &AtomicBool) -> Result<usize> {
    let mut asked = 0;
    let vips: Vec<_> = vips().collect();
    while !over.load(Ordering::Relaxed) {
        for vip in &vips {
            ask(&topology.client, *vip)?;
            asked += 1;
            std::thread::sleep(PAUSE);
        }
    }
    Ok(asked)
}

fn retransmitted(topology: &Topology) -> Result<u64> {
    let counters = topology.client.run("cat /proc/net/snmp")?;
    let mut tcp = counters.lines().filter_map(|l| l.strip_prefix("Tcp: "));
    let names = tcp.next().unwrap_or_default().split_whitespace();
    let values = tcp.next().unwrap_or_default().split_whitespace();
    let found = names.zip(values).find(|(name, _)| *name == "RetransSegs");
    let value = found.and_then(|(_, value)| value.parse().ok());
    value.ok_or_else(|| Error::Unexpected(format!("no RetransSegs in {counters}")))
}
