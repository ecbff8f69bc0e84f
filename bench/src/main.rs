//! `bench <what>`: prints a table and writes `target/bench/<what>.json`.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use bench::alloc::Counting;
use bench::{Result, lookup, path};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What Windrose costs, measured.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    what: What,
    /// Where the figures are written.
    #[arg(long, global = true, default_value = "target/bench")]
    out: PathBuf,
}

#[derive(Subcommand)]
enum What {
    /// The worker's whole way, a packet, in units of testpmd's.
    Path {
        /// Rounds.
        #[arg(long, default_value_t = 9)]
        rounds: usize,
        /// Only the cases whose names contain this.
        #[arg(long, default_value = "")]
        only: String,
        /// The CPU to measure on.
        #[arg(long, default_value_t = bench::clock::cpus() - 1)]
        cpu: usize,
    },
    /// The same over ports of DPDK's, `net_ring` and `net_null`.
    Ports {
        /// Rounds.
        #[arg(long, default_value_t = 9)]
        rounds: usize,
        /// The CPU to measure on.
        #[arg(long, default_value_t = bench::clock::cpus() - 1)]
        cpu: usize,
    },
    /// Allocations on that way; fails if there are any.
    Allocations,
    /// The connection table beside DPDK's rte_hash.
    Lookup {
        /// Rounds.
        #[arg(long, default_value_t = 9)]
        rounds: usize,
        /// Only in huge pages, or only in small ones.
        #[arg(long)]
        huge: Option<bool>,
        /// The CPU to measure on.
        #[arg(long, default_value_t = bench::clock::cpus() - 1)]
        cpu: usize,
        /// Entries.
        #[arg(default_values_t = [1_000_000, 4_000_000])]
        sizes: Vec<u32>,
    },
    /// Two workers beside one.
    Scaling {
        /// Rounds.
        #[arg(long, default_value_t = 9)]
        rounds: usize,
    },
    /// A worker while Tables are published.
    Publication {
        /// Rounds.
        #[arg(long, default_value_t = 9)]
        rounds: usize,
    },
    /// Building Maglev tables.
    Maglev {
        /// Rounds.
        #[arg(long, default_value_t = 9)]
        rounds: usize,
    },
    /// Instructions a packet, by callgrind.
    Instructions {
        /// What this program was built for, if not for every x86-64.
        #[arg(long)]
        build: Option<String>,
    },
    /// What runs under callgrind.
    #[command(hide = true)]
    Count {
        /// Which packets.
        case: String,
        /// Only their generator.
        #[arg(long)]
        idle: bool,
    },
    /// Two revisions, from folders that `path` has written.
    Compare {
        /// Runs of the older one.
        #[arg(long, required = true)]
        base: Vec<PathBuf>,
        /// Runs of the newer one.
        #[arg(long, required = true)]
        new: Vec<PathBuf>,
    },
}

fn main() -> Result<()> {
    let Arguments { what, out } = Arguments::parse();
    match what {
        What::Path { rounds, only, cpu } => path::run(&path::Options { rounds, only, cpu }, &out),
        What::Ports { rounds, cpu } => bench::ports::run(rounds, cpu, &out),
        What::Allocations => bench::allocations::run(&out),
        What::Lookup { rounds, huge, cpu, sizes } => {
            lookup::run(&lookup::Options { rounds, sizes, huge, cpu }, &out)
        }
        What::Scaling { rounds } => bench::scaling::run(rounds, &out),
        What::Publication { rounds } => bench::publication::run(rounds, &out),
        What::Maglev { rounds } => bench::maglev::run(rounds, &out),
        What::Instructions { build } => bench::instructions::run(build.as_deref(), &out),
        What::Count { case, idle } => bench::instructions::child(&case, idle),
        What::Compare { base, new } => bench::compare::run(&base, &new, &out),
    }
}
