//! A packet event.

use std::net::IpAddr;

use serde::de::Error;
use serde::{Deserialize, Deserializer};

/// What is wrong with a packet.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PacketError {
    /// Not a protocol.
    #[error(
        "protocol = {0} is unknown; allowed: \"tcp\", \"udp\", \"icmp\", \"icmpv6\", \"esp\", \
         \"gre\", or a number of 0 to 255"
    )]
    Protocol(String),
    /// Not an address.
    #[error("{key} = {found:?} is no IPv4 or IPv6 address")]
    Address {
        /// `src` or `dst`.
        key: &'static str,
        /// What was found.
        found: String,
    },
    /// One IPv4, one IPv6.
    #[error("src = {0} and dst = {1} are not of one address family")]
    MixedFamilies(IpAddr, IpAddr),
    /// TCP and UDP have ports.
    #[error("{0} has ports: {1} is missing")]
    NoPort(String, &'static str),
    /// Others have none.
    #[error("{0} has no ports: leave out sport and dport")]
    Ports(String),
    /// Not a flag.
    #[error("flags = {0:?}: {1:?} is no flag; allowed: any of S A F R P")]
    Flag(String, char),
    /// Only TCP has flags.
    #[error("flags: {0} has none, only tcp has")]
    Flags(String),
    /// Not a part.
    #[error("fragment = {0:?}; allowed: \"first\", \"middle\", \"last\"")]
    Fragment(String),
    /// A fragment belongs to a datagram.
    #[error("fragment: give the id of the datagram that it is a part of, for example id = 7")]
    NoId,
    /// Too large for IPv4.
    #[error("id = {0} does not fit: IPv4 has 16 bits for it")]
    Id(u32),
    /// Only fragments have one.
    #[error("id: only a fragment has one; add fragment = \"first\", \"middle\" or \"last\"")]
    IdAlone,
    /// Only ICMP quotes.
    #[error("quote: only icmp and icmpv6 quote a packet, not {0}")]
    Quote(String),
    /// The quoted packet.
    #[error("quote: {0}")]
    InQuote(Box<PacketError>),
}

/// A packet as a scenario writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Addresses, protocol, ports.
    pub tuple: Tuple,
    /// TCP flags.
    pub flags: Flags,
    /// Which part of which datagram; `None`: a whole one.
    pub fragment: Option<(FragmentPart, u32)>,
    /// The packet that an ICMP error is about, as it was sent.
    pub quote: Option<Tuple>,
    /// The port that it arrives at, by name; `None`: the first.
    pub port: Option<String>,
}

/// Addresses, protocol, ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tuple {
    /// The IP protocol number.
    pub protocol: u8,
    /// Source.
    pub src: IpAddr,
    /// Destination, of the source's family.
    pub dst: IpAddr,
    /// Source port, 0 where there is none.
    pub sport: u16,
    /// Destination port, 0 where there is none.
    pub dport: u16,
}

/// TCP flags as they stand in the header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(pub u8);

impl Flags {
    const LETTERS: [(char, u8); 5] =
        [('F', 0x01), ('S', 0x02), ('R', 0x04), ('P', 0x08), ('A', 0x10)];

    /// Reads any of S A F R P.
    ///
    /// # Errors
    /// Another letter.
    pub fn parse(text: &str) -> Result<Self, PacketError> {
        let mut bits = 0;
        for letter in text.chars() {
            let known = Self::LETTERS.iter().find(|(known, _)| *known == letter);
            bits |= known.ok_or_else(|| PacketError::Flag(text.to_owned(), letter))?.1;
        }
        Ok(Self(bits))
    }

    /// Whether SYN is set.
    pub fn syn(self) -> bool {
        self.0 & 0x02 != 0
    }
}

/// A part of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FragmentPart {
    /// With the transport header.
    First,
    /// Without it, and others follow.
    Middle,
    /// Without it, the end.
    Last,
}

/// `packet = { … }`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PacketTable {
    protocol: toml::Value,
    src: String,
    dst: String,
    #[serde(default, deserialize_with = "sport")]
    sport: Option<u16>,
    #[serde(default, deserialize_with = "dport")]
    dport: Option<u16>,
    flags: Option<String>,
    fragment: Option<String>,
    id: Option<u32>,
    quote: Option<QuoteTable>,
    port: Option<String>,
}

/// `quote = { … }`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct QuoteTable {
    protocol: toml::Value,
    src: String,
    dst: String,
    #[serde(default, deserialize_with = "sport")]
    sport: Option<u16>,
    #[serde(default, deserialize_with = "dport")]
    dport: Option<u16>,
}

fn sport<'de, D: Deserializer<'de>>(value: D) -> Result<Option<u16>, D::Error> {
    port_number("sport", value)
}

fn dport<'de, D: Deserializer<'de>>(value: D) -> Result<Option<u16>, D::Error> {
    port_number("dport", value)
}

/// Names the key, which serde's own words leave out.
fn port_number<'de, D: Deserializer<'de>>(key: &str, value: D) -> Result<Option<u16>, D::Error> {
    let found = i64::deserialize(value)?;
    let number = u16::try_from(found);
    number.map(Some).map_err(|_| D::Error::custom(format!("{key} = {found}; allowed: 0 to 65535")))
}

impl QuoteTable {
    fn tuple(self) -> Result<Tuple, PacketError> {
        let protocol = protocol(&self.protocol)?;
        tuple(protocol, &self.src, &self.dst, (self.sport, self.dport), true)
    }
}

impl PacketTable {
    pub(super) fn packet(self) -> Result<Packet, PacketError> {
        let protocol = protocol(&self.protocol)?;
        let part = self.fragment.as_deref().map(part).transpose()?;
        let has_header = !matches!(part, Some(FragmentPart::Middle | FragmentPart::Last));
        let ports = (self.sport, self.dport);
        let tuple = tuple(protocol, &self.src, &self.dst, ports, has_header)?;
        if self.flags.is_some() && protocol != TCP {
            return Err(PacketError::Flags(protocol_name(protocol)));
        }
        if self.quote.is_some() && !matches!(protocol, ICMP | ICMPV6) {
            return Err(PacketError::Quote(protocol_name(protocol)));
        }
        let quote = self.quote.map(QuoteTable::tuple).transpose();
        Ok(Packet {
            tuple,
            flags: Flags::parse(self.flags.as_deref().unwrap_or_default())?,
            fragment: fragment(part, self.id, tuple.src.is_ipv4())?,
            quote: quote.map_err(|e| PacketError::InQuote(Box::new(e)))?,
            port: self.port,
        })
    }
}

const ICMP: u8 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;
const GRE: u8 = 47;
const ESP: u8 = 50;
const ICMPV6: u8 = 58;

const NAMES: [(&str, u8); 6] =
    [("tcp", TCP), ("udp", UDP), ("icmp", ICMP), ("icmpv6", ICMPV6), ("esp", ESP), ("gre", GRE)];

/// A protocol's name, or its number.
pub fn protocol_name(number: u8) -> String {
    let known = NAMES.iter().find(|(_, known)| *known == number);
    known.map_or_else(|| format!("protocol {number}"), |(name, _)| (*name).to_owned())
}

/// A protocol by its name, or a number as text.
pub(crate) fn protocol_by_name(name: &str) -> Result<u8, PacketError> {
    let known = NAMES.iter().find(|(known, _)| *known == name).map(|(_, number)| *number);
    known.or_else(|| name.parse().ok()).ok_or_else(|| PacketError::Protocol(format!("{name:?}")))
}

fn protocol(value: &toml::Value) -> Result<u8, PacketError> {
    match value {
        toml::Value::String(name) => protocol_by_name(name),
        toml::Value::Integer(number) => {
            u8::try_from(*number).map_err(|_| PacketError::Protocol(number.to_string()))
        }
        other => Err(PacketError::Protocol(other.type_str().to_owned())),
    }
}

fn part(text: &str) -> Result<FragmentPart, PacketError> {
    match text {
        "first" => Ok(FragmentPart::First),
        "middle" => Ok(FragmentPart::Middle),
        "last" => Ok(FragmentPart::Last),
        other => Err(PacketError::Fragment(other.to_owned())),
    }
}

fn fragment(
    part: Option<FragmentPart>,
    id: Option<u32>,
    v4: bool,
) -> Result<Option<(FragmentPart, u32)>, PacketError> {
    match (part, id) {
        (None, None) => Ok(None),
        (None, Some(_)) => Err(PacketError::IdAlone),
        (Some(_), None) => Err(PacketError::NoId),
        (Some(_), Some(id)) if v4 && id > u32::from(u16::MAX) => Err(PacketError::Id(id)),
        (Some(part), Some(id)) => Ok(Some((part, id))),
    }
}

/// The addresses and ports; TCP and UDP with a transport header must have ports, others never do.
pub(crate) fn tuple(
    protocol: u8,
    src: &str,
    dst: &str,
    ports: (Option<u16>, Option<u16>),
    has_header: bool,
) -> Result<Tuple, PacketError> {
    let (src, dst) = (address("src", src)?, address("dst", dst)?);
    if src.is_ipv4() != dst.is_ipv4() {
        return Err(PacketError::MixedFamilies(src, dst));
    }
    let name = || protocol_name(protocol);
    let with_ports = matches!(protocol, TCP | UDP) && has_header;
    let (sport, dport) = match (with_ports, ports) {
        (true, (Some(sport), Some(dport))) => (sport, dport),
        (true, (None, _)) => return Err(PacketError::NoPort(name(), "sport")),
        (true, (_, None)) => return Err(PacketError::NoPort(name(), "dport")),
        (false, (None, None)) => (0, 0),
        (false, _) if matches!(protocol, TCP | UDP) => {
            return Err(PacketError::Ports(format!("a middle or last fragment of {}", name())));
        }
        (false, _) => return Err(PacketError::Ports(name())),
    };
    Ok(Tuple { protocol, src, dst, sport, dport })
}

fn address(key: &'static str, text: &str) -> Result<IpAddr, PacketError> {
    text.parse().map_err(|_| PacketError::Address { key, found: text.to_owned() })
}
