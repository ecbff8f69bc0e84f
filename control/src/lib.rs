//! Configuration, policy, reload, simulation: everything that decides, none of which sees a packet.
//!
//! In reading order:
//!
//! - [`model`]: a valid configuration, in types that cannot be wrong;
//! - [`config`]: TOML → model, every error at once with its place;
//! - `policy`: eligible sets, zones, weights, failover, persistence: pure functions;
//! - `state`: what is known of the backends (health, weights, drains, epochs); takes `now`;
//! - `plan`: model + state → [`tables::Tables`];
//! - [`simulate`]: all of it over a list of events, with a virtual clock;
//! - [`explain`]: the same for one packet, in words;
//! - [`diff`]: what a reload would change.
//!
//! This crate must not know mbufs; only the binary names the dataplane.

pub mod config;
pub mod diff;
pub mod explain;
pub mod host;
pub mod model;
pub mod plan;
pub mod policy;
pub mod reload;
pub mod simulate;
pub mod state;
