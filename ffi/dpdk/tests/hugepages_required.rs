//! `hugepages = "require"` where there are none, or not enough.

use dpdk::hugepages::Free;
use dpdk::{Eal, EalConfig, Error, HugePages};

#[test]
fn missing_huge_pages_are_an_error_before_dpdk_starts() {
    let memory = Free::now().kilobytes / 1024 + 2;
    let config = EalConfig { memory, hugepages: HugePages::Require, ..EalConfig::default() };
    let error = Eal::start(&config).unwrap_err();
    assert!(matches!(error, Error::NoHugePages { .. }), "{error}");

    // It did not count as a start.
    let config = EalConfig { memory: 64, hugepages: HugePages::Off, ..config };
    assert!(!Eal::start(&config).expect("DPDK starts").huge());
}
