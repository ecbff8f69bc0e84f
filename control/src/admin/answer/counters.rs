//! `windrose counters`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Given;

/// Every counter, zeros included, since the start of the process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountersNow {
    /// Over all workers.
    pub total: Counts,
    /// By worker.
    pub workers: Vec<Counts>,
    /// What the ports report themselves.
    pub ports: Vec<PortCounts>,
    /// What backends were given, by service.
    #[serde(default)]
    pub services: Vec<ServiceCounts>,
}

/// One service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceCounts {
    /// Its name.
    pub name: String,
    /// What the backends that it has now were given.
    pub given: Given,
    /// Each of them, in the order of the file, those that drain included.
    pub backends: Vec<BackendCounts>,
}

/// One backend.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackendCounts {
    /// `group/name`
    pub backend: String,
    /// Its address: with another one it is another backend.
    pub address: String,
    /// What it was given since it has come.
    pub given: Given,
}

/// Counters of one worker, or of all. received = Σ outcomes + held (D-7), but for what is counted
/// while it is read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// How packets ended.
    pub outcomes: BTreeMap<String, u64>,
    /// What is counted beside that.
    pub events: BTreeMap<String, u64>,
    /// Packets held now.
    pub held: u64,
}

/// One port's own counters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortCounts {
    /// Its name.
    pub name: String,
    /// `rx_missed`, `rx_errors`, `rx_no_buffer`, `tx_errors`
    pub losses: BTreeMap<String, u64>,
}
