//! `[encapsulation]`, and a service's own `encapsulation`.

use std::net::IpAddr;

use ipnet::IpNet;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::field::Field;
use crate::config::table::config_table;
use crate::config::value::number::Int;
use crate::model::{Dscp, GreKey};

config_table! {
    /// How packets reach the backends. In a service: what is absent is as in `[encapsulation]`.
    "encapsulation" struct Encapsulation {
        /// The tunnel.
        default kind: Kind = "ipip",
        /// Outer sources, at most one per family; absent: the first address of that family of the ports.
        default source: Vec<Field<IpAddr>> = [],
        /// Spread the outer source over `entropy_prefix`.
        default source_entropy: bool = false,
        /// Prefixes to spread the outer source over.
        default entropy_prefix: Vec<Field<IpNet>> = [],
        /// Destination port of GUE.
        default gue_port: Int<1, 65_535> = 6_080,
        /// Variant of GUE.
        default gue_variant: Int<0, 1> = 0,
        /// The key field of GRE: none, one per service derived from its name, or this number.
        default gre_key: GreKey = "none",
        /// The outer DSCP: the inner packet's, zero, or this number.
        default dscp: Dscp = "copy",
        /// The outer TTL or hop limit.
        default ttl: Int<1, 255> = 64,
    }
}

/// `kind`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(in crate::config) enum Kind {
    /// IP in IP: 4in4, 6in4, 4in6, 6in6 as the two addresses need.
    Ipip,
    /// GRE.
    Gre,
    /// GUE.
    Gue,
}
