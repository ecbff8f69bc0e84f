//! `[dataplane]`: what the process is given to work with.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tables::HashSeed;

/// `[dataplane]`: what cannot change without a restart, but the Maglev defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct Dataplane {
    /// CPU ids, one worker each; empty: every CPU but the first.
    pub workers: Vec<u16>,
    /// Whether to use huge pages.
    pub hugepages: Hugepages,
    /// EAL memory, bytes.
    pub memory: u64,
    /// Capacity of the connection table for IPv4, entries.
    pub conntrack_entries: u32,
    /// The same for IPv6.
    pub conntrack_entries_v6: u32,
    /// New entries a second a worker (D-4); 0: no limit.
    pub insert_rate: u32,
    /// Keys selection and Maglev.
    pub hash_seed: HashSeed,
    /// What a worker does when nothing arrives.
    pub idle: Idle,
    /// Passed through to DPDK.
    pub eal_args: Vec<String>,
}

/// `hugepages`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Hugepages {
    /// Use them if they are there.
    #[default]
    Auto,
    /// Refuse to start without.
    Require,
    /// Ordinary pages (EAL `--no-huge`).
    Off,
}

/// `idle`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Idle {
    /// Never sleep.
    Spin,
    /// Sleep when queues stay empty.
    #[default]
    Adaptive,
}
