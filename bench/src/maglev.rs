//! How long Maglev tables take to build, beside the paper's pseudocode in C.

use std::hint::black_box;
use std::path::Path;

use tables::HashSeed;
use tables::maglev::{Maglev, MaglevCache, Member};

use crate::Result;
use crate::clock::{median, time};
use crate::report::{Report, two};

// SAFETY: as `shim/maglev.c` defines it.
unsafe extern "C" {
    fn bench_maglev(slots: *mut u16, size: u32, members: u32, seed: u64) -> i32;
}

const CASES: &[(u32, u32)] = &[(65_537, 10), (65_537, 1_000), (655_373, 1_000), (5_000_011, 1_000)];

/// Runs it.
pub fn run(rounds: usize, folder: &Path) -> Result<()> {
    let columns = ["Maglev table", "ours ms", "weighted ms", "plain C ms", "ours ÷ C"];
    let mut report = Report::new("maglev", &columns);
    for (size, count) in CASES {
        let names: Vec<String> = (0..*count).map(|i| format!("group/b{i:05}")).collect();
        let mut times = [const { Vec::new() }; 3];
        for round in 0..rounds {
            let seed = HashSeed([round as u8; 16]);
            times[0].push(ours(&names, |_| 1, *size, seed)?);
            times[1].push(ours(&names, |i| i % 10 + 1, *size, seed)?);
            times[2].push(plain(*count, *size, round as u64)?);
        }
        let [equal, weighted, c] = [0, 1, 2].map(|i| median(&times[i]));
        let cells = [two(equal), two(weighted), two(c), two(equal / c)];
        report.row(format!("{size} slots, {count} members"), &cells, &times[0]);
    }
    services(&mut report, rounds)?;
    report.finish(folder)
}

/// Milliseconds of a build.
fn ours(names: &[String], weight: impl Fn(u32) -> u32, size: u32, seed: HashSeed) -> Result<f64> {
    let members: Vec<_> =
        names.iter().zip(0..).map(|(name, i)| Member { name, weight: weight(i) }).collect();
    let mut table = None;
    let ns = time(|| table = black_box(Maglev::build(&members, size, &seed).ok()));
    table.ok_or("no table")?;
    Ok(ns / 1e6)
}

fn plain(members: u32, size: u32, seed: u64) -> Result<f64> {
    let mut slots = vec![0_u16; size as usize];
    let mut done = 0;
    // SAFETY: `slots` has room for `size`; members are at least one and fewer than 2^16.
    let ns = time(|| done = unsafe { bench_maglev(slots.as_mut_ptr(), size, members, seed) });
    black_box(&slots);
    if done == 1 { Ok(ns / 1e6) } else { Err("no memory".into()) }
}

/// A thousand services, of one set and of a set each.
fn services(report: &mut Report, rounds: usize) -> Result<()> {
    for (name, sets) in
        [("1,000 services, one set of 10", 1), ("1,000 services, a set of 10 each", 1000)]
    {
        let names: Vec<String> = (0..sets * 10).map(|i| format!("group/b{i:05}")).collect();
        let times = (0..if sets == 1 { rounds } else { 3 }).map(|round| {
            let mut cache = MaglevCache::default();
            let mut held = Vec::new();
            let seed = HashSeed([round as u8; 16]);
            let ns = time(|| {
                for service in 0..1000 {
                    let mine = names.iter().skip(service % sets * 10).take(10);
                    let members: Vec<_> = mine.map(|name| Member { name, weight: 1 }).collect();
                    held.extend(cache.get(&members, 65_537, &seed).ok());
                }
            });
            (held.len() == 1000).then_some(ns / 1e6).ok_or("a table was not built")
        });
        let times: Vec<f64> = times.collect::<std::result::Result<_, _>>()?;
        report.row(name, &[two(median(&times))], &times);
    }
    Ok(())
}
