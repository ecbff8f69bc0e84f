//! Configuration, policy, reload, simulation: everything that decides. Only [`host`] sees frames.
//!
//! In reading order:
//!
//! - [`model`]: a valid configuration, in types that cannot be wrong;
//! - [`config`]: TOML → model, every error at once with its place;
//! - [`policy`]: eligible sets, zones, weights, failover, persistence: pure functions;
//! - [`state`]: what is known of the backends (health, weights, drains, epochs); takes `now`;
//! - [`health`]: the checks: what is asked when, and what the answers change;
//! - [`plan`]: model + state → [`tables::Tables`];
//! - [`news`]: what a change did to whom new connections go to, for the log;
//! - [`reload`]: a change → new state and new Tables, or nothing at all;
//! - [`simulate`]: all of it over a list of events, with a virtual clock;
//! - [`explain`]: the same for one packet, in words;
//! - [`diff`]: what a reload would change;
//! - [`doctor`]: what is wrong with a machine for a configuration;
//! - [`backend_setup`]: what a backend's host needs, as commands;
//! - [`admin`]: operators' questions and orders, while it runs;
//! - [`host`]: the host interface, a TAP device and its thread;
//! - [`netlink`]: the kernel's routes and neighbours, mirrored.
//!
//! This crate must not know mbufs; only the binary names the dataplane.

pub mod admin;
pub mod backend_setup;
pub mod config;
pub mod diff;
pub mod doctor;
pub mod explain;
pub mod health;
pub mod host;
pub mod model;
pub mod netlink;
pub mod news;
pub mod plan;
pub mod policy;
pub mod reload;
pub mod simulate;
pub mod state;
