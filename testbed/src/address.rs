//! Who has which address, in every topology. Documentation prefixes (RFC 5737, RFC 3849) and
//! private ones.

use std::net::IpAddr;

/// The appliance on the client's side.
pub const FRONT: [&str; 2] = ["10.0.1.1", "2001:db8:1::1"];
/// The client.
pub const CLIENT: [&str; 2] = ["10.0.1.2", "2001:db8:1::2"];
/// The appliance on the backends' side.
pub const BACK: [&str; 2] = ["10.0.2.1", "2001:db8:2::1"];
/// The client on the return segment, past the appliance.
pub const RETURN: [&str; 2] = ["10.0.3.2", "2001:db8:3::2"];
/// Where the VIPs are.
pub const VIP_PREFIX: [&str; 2] = ["203.0.113.0/24", "2001:db8:f::/64"];
/// How many backends there are.
pub const BACKENDS: usize = 3;

/// One family, as an index into the pairs above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// IPv4
    V4 = 0,
    /// IPv6
    V6 = 1,
}

impl Family {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::V4, Self::V6];

    /// `4` or `6`
    pub fn digit(self) -> char {
        ['4', '6'][self as usize]
    }

    /// The length of an on-link prefix here.
    pub fn prefix(self) -> u8 {
        [24, 64][self as usize]
    }

    /// The length of a single address's prefix.
    pub fn whole(self) -> u8 {
        [32, 128][self as usize]
    }
}

/// The VIP that clients reach over `front`, served by backends that are addressed over `back`.
pub fn vip(front: Family, back: Family) -> IpAddr {
    let last = if front == back { 10 } else { 20 };
    match front {
        Family::V4 => parse(&format!("203.0.113.{last}")),
        Family::V6 => parse(&format!("2001:db8:f::{last}")),
    }
}

/// The code that stands for the VIP of one family where there is no tunnel (L3DSR).
pub fn dscp(family: Family) -> u8 {
    [4, 6][family as usize]
}

/// All four VIPs.
pub fn vips() -> impl Iterator<Item = IpAddr> {
    Family::BOTH.into_iter().flat_map(|f| Family::BOTH.map(|b| vip(f, b)))
}

/// Backend `index` (from 0) on segment 1 (the client's), 2 (the backends') or 3 (the return's).
pub fn backend(segment: u8, family: Family, index: usize) -> IpAddr {
    let host = 11 + index;
    match family {
        Family::V4 => parse(&format!("10.0.{segment}.{host}")),
        Family::V6 => parse(&format!("2001:db8:{segment}::{host}")),
    }
}

/// Where backends are that only a router leads to.
pub const FAR_PREFIX: [&str; 2] = ["10.7.0.0/24", "2001:db8:7::/64"];

/// Backend `index` there.
pub fn far(family: Family, index: usize) -> IpAddr {
    let host = 11 + index;
    match family {
        Family::V4 => parse(&format!("10.7.0.{host}")),
        Family::V6 => parse(&format!("2001:db8:7::{host}")),
    }
}

/// Backend `index`'s name.
pub fn backend_name(index: usize) -> String {
    format!("b{}", index + 1)
}

fn parse(text: &str) -> IpAddr {
    text.parse().expect("an address of this file")
}
