//! Targets: bytes in, no panic, and what each module's page promises.
//!
//! - [`parse`]: one frame is read;
//! - [`encapsulation`]: one frame is put into any tunnel;
//! - [`quote`]: ICMP errors with any quote, through whole workers;
//! - [`fragments`]: fragments of a few datagrams, in any order, over two workers and some time;
//! - [`worker`]: any frames through whole workers;
//! - `config`: any text as a configuration file.
//!
//! One harness is fuzz target (`fuzz_targets/`, `make fuzz`) and test (`tests/corpus.rs`, which
//! replays `seeds/` and adds noise). [`appliance`] is what the workers run in, [`shape`] makes
//! frames of bytes, [`wire`] judges what comes out.

pub mod appliance;
#[cfg(feature = "config")]
pub mod config;
pub mod encapsulation;
pub mod fragments;
pub mod parse;
pub mod quote;
pub mod shape;
pub mod wire;
pub mod worker;

/// A target: its name, and what runs one input.
pub type Target = (&'static str, fn(&[u8]));

/// Every target.
pub const TARGETS: &[Target] = &[
    ("parse", parse::run),
    ("encapsulation", encapsulation::run),
    ("quote", quote::run),
    ("fragments", fragments::run),
    ("worker", worker::run),
    #[cfg(feature = "config")]
    ("config", config::run),
];
