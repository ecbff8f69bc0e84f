//! Allocations on the packet path: there must be none.

use std::path::Path;

use dataplane::batch::BURST;

use crate::Result;
use crate::alloc::count;
use crate::report::Report;
use crate::rig::{Plant, Rig, plain_buffers};
use crate::traffic::{Kind, Order};

const FLOWS: u32 = 50_000;
const PACKETS: usize = 4 * FLOWS as usize;

/// What is counted: a name, the packets, how many of them, and the insert limit.
const CASES: &[(&str, Kind, u32)] = &[
    ("established IPv4 TCP", Kind::Tcp4, 0),
    ("established IPv6 TCP", Kind::Tcp6, 0),
    ("established IPv4 UDP", Kind::Udp4, 0),
    ("IPv4 SYN", Kind::Syn4, 0),
    ("IPv6 SYN", Kind::Syn6, 0),
    ("IPv4 SYN beyond the limit", Kind::Syn4, 1),
];

/// Allocations of each case, over 200,000 packets of it. Only counts in a program whose
/// allocator is [`crate::alloc::Counting`].
pub fn counted() -> Result<Vec<(&'static str, u64)>> {
    CASES.iter().map(|(name, kind, limit)| Ok((*name, case(*kind, *limit)?))).collect()
}

/// Twice as many flows as have an entry come: hits, misses, entries made, denied and evicted.
fn case(kind: Kind, limit: u32) -> Result<u64> {
    let plant = Plant { limit, ..Plant::one(kind, FLOWS) };
    let mut rig = Rig::new(&plant, kind, Order::random(2 * FLOWS))?;
    let mut buffers = plain_buffers(kind);
    let allocations = rig.with_buffers(&mut buffers, |rig| {
        rig.bursts(16);
        let before = count();
        rig.bursts(PACKETS / BURST);
        count() - before
    });
    rig.check_all_forwarded()?;
    Ok(allocations)
}

/// Prints the counts; an error if one is not zero.
pub fn run(folder: &Path) -> Result<()> {
    let mut report = Report::new("allocations", &["whole worker path", "allocations", "packets"]);
    let counted = counted()?;
    for (name, allocations) in &counted {
        report.row(*name, &[allocations.to_string(), PACKETS.to_string()], &[]);
    }
    report.finish(folder)?;
    match counted.iter().all(|(_, allocations)| *allocations == 0) {
        true => Ok(()),
        false => Err("the packet path allocates".into()),
    }
}
