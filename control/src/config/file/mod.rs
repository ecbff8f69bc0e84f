//! The file as it is written: one field list per table (see [`super::table`]).
//!
//! The doc comments here are the descriptions in the JSON Schema: they are for operators.

pub(super) mod dataplane;
pub(super) mod encapsulation;
pub(super) mod proxy;
pub(super) mod rule;
pub(super) mod service;

use super::field::Field;
use super::table::config_table;

config_table! {
    /// The configuration of one Windrose appliance.
    "" struct File {
        /// Workers, memory, connection table: what belongs to the process.
        inner dataplane: dataplane::Dataplane = {},
        /// The ports that packets come in and go out by: one (one-arm) or several.
        inner port: Vec<Field<dataplane::Port>> = [],
        /// How packets reach the backends; a service may override each key.
        inner encapsulation: encapsulation::Encapsulation = {},
        /// Metrics, JSON API and control socket.
        optional admin: dataplane::Admin,
        /// Which zone a client is in: the longest prefix decides.
        inner client_zone: Vec<Field<service::ClientZone>> = [],
        /// The services: backends and how connections are distributed over them.
        inner service: Vec<Field<service::Service>> = [],
        /// TLS routes of proxy services.
        inner tls_route: Vec<Field<proxy::TlsRoute>> = [],
        /// Which packets go to which service.
        inner forwarding_rule: Vec<Field<rule::ForwardingRule>> = [],
    }
}
