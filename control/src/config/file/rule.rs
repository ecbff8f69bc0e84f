//! `[[forwarding_rule]]`

use ipnet::IpNet;

use crate::config::field::Field;
use crate::config::table::config_table;
use crate::config::value::mixed::PortList;
use crate::config::value::number::Int;
use crate::config::value::text::{Length, Name, Vip};
use crate::model::RuleProtocol;

config_table! {
    /// Which packets go to which service.
    "forwarding_rule" struct ForwardingRule {
        /// Its name.
        required name: Name = "unnamed",
        /// The VIP; a prefix for a service of profile native or gcp-internal.
        required address: Vip = "192.0.2.0",
        /// TCP, UDP or every IP protocol.
        required protocol: RuleProtocol = "TCP",
        /// Destination ports: up to five single ports, or ranges, or "ALL" (L3_DEFAULT takes only that).
        required ports: PortList = "ALL",
        /// The service that takes the packets.
        optional service: Name,
        /// Clients that may use the rule; others are dropped by name.
        default client_allow: Vec<Field<IpNet>> = ["0.0.0.0/0", "::/0"],
        /// Proxy: the TLS routes, in place of `service`.
        optional tls_routes: Vec<Name>,
        /// Proxy: prefixes of senders whose PROXY header is believed.
        optional accept_proxy_protocol: Vec<IpNet>,
        /// Proxy: how long to wait for the ClientHello.
        optional hello_timeout: Length,
        /// Proxy: connections at a time; 0: no limit.
        optional max_connections: Int<0, 4_294_967_295>,
        /// Proxy: connections at a time from one client; 0: no limit.
        optional max_connections_per_client: Int<0, 4_294_967_295>,
    }
}
