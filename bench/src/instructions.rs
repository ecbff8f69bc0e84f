//! Instructions a packet, counted by callgrind: a figure that a noisy machine cannot blur.
//!
//! The program that is counted is the one that is shipped, built for every x86-64: what it detects
//! at run time goes no further than what valgrind knows (AVX2). `run.sh full` also counts a build for
//! x86-64-v3, the most that valgrind can run.

use std::path::Path;
use std::process::Command;

use dataplane::batch::BURST;

use crate::Result;
use crate::path::Load;
use crate::report::{Report, one};
use crate::rig::{Plant, Rig, plain_buffers};
use crate::traffic::{Kind, Order};

const FLOWS: u32 = 2_000;
const PACKETS: usize = 32_000;

/// A name on the command line, in the table, the packets, and what they meet.
const CASES: &[(&str, &str, Kind, Load)] = &[
    ("tcp4", "established IPv4 TCP", Kind::Tcp4, Load::Established),
    ("many4", "established IPv4 TCP, 1,000 VIPs", Kind::Many4, Load::Established),
    ("tcp6", "established IPv6 TCP", Kind::Tcp6, Load::Established),
    ("udp4", "established IPv4 UDP", Kind::Udp4, Load::Established),
    ("syn4", "IPv4 SYN on a live entry", Kind::Syn4, Load::Replaces),
    ("syn6", "IPv6 SYN on a live entry", Kind::Syn6, Load::Replaces),
    ("flood4", "SYN flood, not entered (limit)", Kind::Syn4, Load::OverLimit),
    ("full4", "SYN flood, not entered (table full)", Kind::Syn4, Load::Full),
];

/// Only what runs under this is counted.
#[inline(never)]
pub fn counted_bursts(rig: &mut Rig<dataplane::io::mem::MemFrame>, bursts: usize) {
    rig.bursts(bursts);
}

/// The same for the generator.
#[inline(never)]
pub fn counted_idle(rig: &mut Rig<dataplane::io::mem::MemFrame>, bursts: usize) {
    (0..bursts).for_each(|_| rig.worker.io.idle());
}

/// What runs under callgrind: one case, its worker or (`idle`) its generator only.
pub fn child(case: &str, idle: bool) -> Result<()> {
    let (_, _, kind, load) = *CASES.iter().find(|c| c.0 == case).ok_or("no such case")?;
    let mut plant = Plant::one(kind, FLOWS);
    plant.limit = u32::from(load == Load::OverLimit);
    let mut rig = Rig::new(&plant, kind, Order::random(FLOWS))?;
    rig.worker.io.buffers = plain_buffers(kind);
    let fresh = Order::Each { next: 1 << 28 };
    let (established, order) = match load {
        Load::OverLimit => (0, fresh),
        // More than fit: every lane is taken.
        Load::Full => (FLOWS / 4 * 5, fresh),
        _ => (FLOWS, Order::random(FLOWS)),
    };
    rig.establish(kind.going_on(), established);
    rig.receive(kind, order);
    if idle {
        counted_idle(&mut rig, PACKETS / BURST);
    } else {
        counted_bursts(&mut rig, PACKETS / BURST);
    }
    rig.check_all_forwarded()
}

/// Counts every case; says so and goes on where valgrind is not installed. `build` names what this
/// program was built for, if that is not what is shipped.
pub fn run(build: Option<&str>, folder: &Path) -> Result<()> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("instructions\n  skipped: valgrind is not installed\n");
        return Ok(());
    }
    let columns = ["instructions a packet", "worker", "mispredicted branches", "generator"];
    let name = build.map_or("instructions".into(), |build| format!("instructions-{build}"));
    let mut report = Report::new(&name, &columns);
    for (case, name, ..) in CASES {
        let [both, generator] = [false, true].map(|idle| count(case, idle, folder));
        let ((both, branches), (generator, idle_branches)) = (both?, generator?);
        let cells =
            [one(both - generator), format!("{:.2}", branches - idle_branches), one(generator)];
        report.row(*name, &cells, &[both - generator]);
    }
    report
        .note(format!("{FLOWS} flows, bursts of {BURST}; callgrind's simulated branch predictor"));
    report.finish(folder)
}

/// Instructions and mispredicted branches a packet.
fn count(case: &str, idle: bool, folder: &Path) -> Result<(f64, f64)> {
    std::fs::create_dir_all(folder)?;
    let file = folder.join(format!("callgrind.{case}{}", if idle { ".idle" } else { "" }));
    let toggle = if idle { "counted_idle" } else { "counted_bursts" };
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--branch-sim=yes", "--dump-line=no"])
        .arg(format!("--toggle-collect=*{toggle}*"))
        .arg(format!("--callgrind-out-file={}", file.display()))
        .arg(std::env::current_exe()?)
        .args(["count", case])
        .args(idle.then_some("--idle"))
        .output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    totals(&std::fs::read_to_string(file)?).ok_or_else(|| "callgrind wrote no totals".into())
}

/// Reads `events:` and `totals:` of callgrind's file.
fn totals(text: &str) -> Option<(f64, f64)> {
    let line = |key: &str| text.lines().find_map(|line| line.strip_prefix(key));
    let events: Vec<&str> = line("events:")?.split_whitespace().collect();
    let totals: Vec<f64> =
        line("totals:")?.split_whitespace().filter_map(|n| n.parse().ok()).collect();
    let of = |event: &str| totals.get(events.iter().position(|e| *e == event)?).copied();
    let packets = (PACKETS / BURST * BURST) as f64;
    Some((of("Ir")? / packets, (of("Bcm").unwrap_or(0.0) + of("Bim").unwrap_or(0.0)) / packets))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_found_by_their_names() {
        let text = "events: Ir Bc Bcm Bi Bim\nfn=x\ntotals: 3200000 1 32000 2 0\n";
        assert_eq!(totals(text), Some((100.0, 1.0)));
        assert_eq!(totals("nothing"), None);
    }
}
