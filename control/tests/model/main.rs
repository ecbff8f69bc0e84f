//! A slow and obvious model of sections 1 to 5 of the specification, and the production code, over
//! the same random events: they agree on every packet's backend, why and entry, on every eligible
//! set, and on how many entries each change ends.
//!
//! The model keeps a list of entries and walks it; it knows no epochs, no ticks and no Tables.
//! Only the hash and the Maglev table that it hands its eligible set to are production's.
//! It proves, by sequences that nobody thought of: T-1 to T-18, H-1 to H-5, E-1 to E-10, Z-1 to
//! Z-4, S-1, S-2, W-2, R-3.

#[path = "../../src/bin/windrose/desk.rs"]
mod desk;
mod entries;
mod fields;
mod oracle;
mod script;
mod world;

use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2_000,
        failure_persistence: None,
        max_shrink_iters: 20_000,
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_model_and_the_production_code_agree_on_every_packet(
        setup in any::<[u8; 12]>(),
        events in prop::collection::vec(any::<[u8; 5]>(), 50),
    ) {
        script::play(&setup, &events)?;
    }
}
