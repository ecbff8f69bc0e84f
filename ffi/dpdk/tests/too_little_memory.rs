//! A pool that does not fit into DPDK's memory.

use dpdk::{Eal, EalConfig, Error, HugePages, Mempool, PoolConfig};

#[test]
fn a_pool_that_does_not_fit_says_how_much_it_needs_and_what_to_raise() {
    // Without huge pages: with them DPDK may take more than it was given.
    let config = EalConfig { memory: 16, hugepages: HugePages::Off, ..EalConfig::default() };
    let eal = Eal::start(&config).expect("DPDK starts");
    let error =
        Mempool::new(&eal, "large", &PoolConfig { buffers: 65_535, ..PoolConfig::default() })
            .unwrap_err();
    assert!(matches!(error, Error::PoolMemory { megabytes: 148, memory: 16, .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("148 MB of the 16 MB that DPDK was given"), "{text}");
    assert!(text.contains("Cannot allocate memory") && text.contains("raise `memory`"), "{text}");
}
