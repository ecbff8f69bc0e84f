//! Proxy services: TLS routes, zonal failover (section 9 of the specification).
//!
//! In reading order, all pure functions over plain data:
//!
//! - [`host`]: what a valid host name is;
//! - [`sni`]: which services a connection goes to;
//! - [`affinity`]: what a connection's hash is over;
//! - [`zone`]: what a zone keeps and where the rest may go.
//!
//! No program uses them yet: the configuration refuses proxy services by name, and there is no
//! socket here. The conformance vectors judge them (`tests/vectors.rs`).
//!
//! This crate must not know the dataplane, nor the configuration file.

pub mod affinity;
pub mod host;
pub mod sni;
pub mod zone;
