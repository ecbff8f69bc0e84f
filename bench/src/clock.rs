//! Time, as little disturbed by others as can be.

use std::sync::OnceLock;

use rustix::thread::{CpuSet, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds that this thread has run.
pub fn cpu_ns() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// Nanoseconds of this thread that `work` takes.
pub fn time(work: impl FnOnce()) -> f64 {
    let start = cpu_ns();
    work();
    cpu_ns() - start
}

/// Keeps this thread on one CPU; where that is not allowed it goes on floating.
pub fn pin(cpu: usize) {
    let mut set = CpuSet::new();
    set.set(cpu);
    let _ = sched_setaffinity(None, &set);
}

/// CPUs that this machine has for us, as they were before [`pin`].
pub fn cpus() -> usize {
    static CPUS: OnceLock<usize> = OnceLock::new();
    *CPUS.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// The middle of some figures; not a number if there are none.
pub fn median(figures: &[f64]) -> f64 {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_and_of_nothing_no_number() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn time_does_not_go_back() {
        assert!(time(|| {}) >= 0.0);
    }
}
