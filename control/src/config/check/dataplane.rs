//! `[dataplane]`

use super::names::Unique;
use super::prime;
use crate::config::environment::Environment;
use crate::config::field::Field;
use crate::config::file::dataplane::Dataplane;
use crate::config::report::Report;
use crate::config::table::defaults;
use crate::config::value::number::Int;
use crate::model;

/// The EAL's own structures need about this much.
const LEAST_MEMORY: u64 = 64 << 20;
const MOST_MEMORY: u64 = 1 << 40;

pub(super) fn check(
    raw: &Dataplane,
    environment: &Environment,
    report: &mut Report<'_>,
) -> model::Dataplane {
    report.enter("[dataplane]".into());
    memory(raw, report);
    table_size(&raw.maglev_table_size, report);
    let workers = workers(&raw.workers, environment, report);
    seed(raw, report);
    report.leave();
    model::Dataplane {
        workers,
        hugepages: *raw.hugepages,
        memory: raw.memory.0,
        conntrack_entries: raw.conntrack_entries.get(),
        conntrack_entries_v6: raw.conntrack_entries_v6.get(),
        insert_rate: raw.insert_rate.get(),
        hash_seed: *raw.hash_seed,
        idle: *raw.idle,
        eal_args: raw.eal_args.value.clone(),
    }
}

fn memory(raw: &Dataplane, report: &mut Report<'_>) {
    if !(LEAST_MEMORY..=MOST_MEMORY).contains(&raw.memory.0) {
        report.refuse(&raw.memory, "out of bounds", "allowed: \"64M\" to \"1024G\"");
    }
}

/// `maglev_table_size`, here and in services.
pub(super) fn table_size<const L: i64, const H: i64>(
    field: &Field<Int<L, H>>,
    report: &mut Report<'_>,
) {
    let size: u32 = field.get();
    if !prime::is_prime(size) {
        let (below, above) = prime::neighbours(size);
        let near = [below, above].into_iter().flatten().map(|p| p.to_string());
        let near = near.collect::<Vec<_>>().join(" and ");
        report.refuse(field, "not prime", format!("allowed: a prime; the nearest are {near}"));
    }
}

fn workers(
    raw: &Field<Vec<Field<Int<0, 1023>>>>,
    environment: &Environment,
    report: &mut Report<'_>,
) -> Vec<u16> {
    let mut unique = Unique::new("two workers cannot share a CPU", "allowed: each CPU once");
    for worker in &raw.value {
        let cpu: u16 = worker.get();
        unique.check_as(worker, cpu, report);
        if !environment.online_cpus.is_empty() && !environment.online_cpus.contains(&cpu) {
            let online = ranges(&environment.online_cpus);
            report.refuse(worker, "this CPU is not online", format!("allowed: {online}"));
        }
    }
    raw.iter().map(|worker| worker.get()).collect()
}

/// `0-3, 8`
fn ranges(sorted: &[u16]) -> String {
    let mut ranges: Vec<(u16, u16)> = Vec::new();
    for cpu in sorted {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *cpu => *last = *cpu,
            _ => ranges.push((*cpu, *cpu)),
        }
    }
    let text = ranges.iter().map(|(a, b)| if a == b { a.to_string() } else { format!("{a}-{b}") });
    text.collect::<Vec<_>>().join(", ")
}

/// D-6: a client that knows the seed can choose its backend.
fn seed(raw: &Dataplane, report: &mut Report<'_>) {
    let public: Dataplane = defaults();
    if raw.hash_seed.is_sound() && raw.hash_seed.value == public.hash_seed.value {
        report.warn(
            raw.hash_seed.span.clone(),
            "hash_seed is the published default: clients can predict their backend".into(),
            "set 32 hexadecimal digits of your own, the same on every appliance (openssl rand -hex 16)",
        );
    }
}
