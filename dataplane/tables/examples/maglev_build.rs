//! How long a Maglev table takes to build: medians, printed as a small table.
//!
//! `cargo run --release -p tables --example maglev_build`

use std::time::Instant;
use tables::HashSeed;
use tables::maglev::{Maglev, Member};

fn main() {
    for (size, count) in [(65_537, 10), (65_537, 1_000), (655_373, 1_000), (5_000_011, 1_000)] {
        let equal = median(size, count, |_| 1);
        let weighted = median(size, count, |i| i as u32 % 10 + 1);
        println!(
            "{size:>8} slots, {count:>5} members: {equal:>8.3} ms, weighted {weighted:>8.3} ms"
        );
    }
}

/// Milliseconds, over 9 builds.
fn median(size: u32, count: usize, weight: impl Fn(usize) -> u32) -> f64 {
    let names: Vec<String> = (0..count).map(|i| format!("group/b{i:05}")).collect();
    let members: Vec<_> =
        names.iter().enumerate().map(|(i, name)| Member { name, weight: weight(i) }).collect();
    let mut rounds: Vec<f64> = (0..9)
        .map(|round| {
            let start = Instant::now();
            let table = Maglev::build(&members, size, &HashSeed([round; 16]));
            let elapsed = start.elapsed();
            assert!(table.is_ok_and(|table| table.size() == size as usize));
            elapsed.as_secs_f64() * 1e3
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    rounds[rounds.len() / 2]
}
