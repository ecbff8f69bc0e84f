//! What DPDK itself refuses.

use dpdk::{Eal, EalConfig};

#[test]
fn an_argument_that_dpdk_refuses_is_reported_with_its_own_words() {
    let config =
        EalConfig { extra_args: vec!["--iova-mode=sideways".into()], ..EalConfig::default() };
    let text = Eal::start(&config).unwrap_err().to_string();
    assert!(text.contains("--iova-mode=sideways"), "{text}");
    assert!(text.contains("DPDK: EAL: "), "{text}");
}
