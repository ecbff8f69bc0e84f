//! More memory than any machine has.

use dpdk::{Eal, EalConfig, Error, HugePages};

#[test]
fn more_memory_than_there_is_is_refused_before_dpdk_is_asked() {
    let much = EalConfig { memory: 1 << 40, hugepages: HugePages::Off, ..EalConfig::default() };
    for _ in 0..2 {
        let error = Eal::start(&much).unwrap_err();
        assert!(matches!(error, Error::Memory { .. }), "{error}");
    }
}
