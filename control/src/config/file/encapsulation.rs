//! `[encapsulation]`, and a service's own `encapsulation`.

use std::net::IpAddr;

use crate::config::field::Field;
use crate::config::table::config_table;
use crate::config::value::number::Int;
use crate::model::{Dscp, EncapsulationKind, GreKey};
use ipnet::IpNet;

config_table! {
    /// How packets reach the backends. In a service: what is absent is as in `[encapsulation]`.
    "encapsulation" struct Encapsulation {
        /// The tunnel, or how packets reach the backends without one.
        default kind: EncapsulationKind = "ipip",
        /// Outer sources, at most one per family; absent: the first address of that family of the ports.
        default source: Vec<Field<IpAddr>> = [],
        /// Spread the outer source of IPIP and GRE over `entropy_prefix`.
        default source_entropy: bool = false,
        /// Prefixes to spread the outer source over, at most one per family.
        default entropy_prefix: Vec<Field<IpNet>> = [],
        /// Destination port of GUE.
        default gue_port: Int<1, 65_535> = 6_080,
        /// Variant of GUE.
        default gue_variant: Int<0, 1> = 0,
        /// The DSCP that stands for the VIP with L3DSR, 1 to 63; 0: none.
        default l3dsr_dscp: Int<0, 63> = 0,
        /// The key field of GRE: none, one per service derived from its name, or this number.
        default gre_key: GreKey = "none",
        /// The outer DSCP: the inner packet's, zero, or this number.
        default dscp: Dscp = "copy",
        /// The outer TTL or hop limit.
        default ttl: Int<1, 255> = 64,
    }
}
