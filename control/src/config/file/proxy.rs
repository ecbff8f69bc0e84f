//! What only proxy services have (SPEC section 9).

use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::table::config_table;
use crate::config::value::text::Name;

config_table! {
    /// A route of a proxy rule by the host name of the TLS ClientHello.
    "tls_route" struct TlsRoute {
        /// Its name.
        required name: Name = "unnamed",
        /// Host names, and wildcards such as `*.example.com`.
        required sni: Vec<String> = [],
        /// The services; the affinity hash picks one.
        required services: Vec<Name> = [],
    }
}

/// `proxy_protocol`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(in crate::config) enum ProxyProtocol {
    /// No header.
    None,
    /// The text header.
    V1,
    /// The binary header.
    V2,
}

/// `proxy_protocol_tlvs`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(in crate::config) enum Tlv {
    /// A checksum of the header.
    Crc32c,
    /// An id of the connection.
    UniqueId,
}

/// `balancing_mode`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(in crate::config) enum BalancingMode {
    /// By the number of connections.
    Connection,
    /// By the utilization that the checks report.
    Utilization,
}
