//! A packet's five-tuple as a few words, and what is taken from it: tracking keys and the
//! selection hash.
//!
//! Both are "the flow under a mask": which fields count is data (a [`FieldSet`] in the plan), so
//! no code branches on an affinity.

use siphasher::sip::SipHasher13;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::ServiceId;

/// IPv4 or IPv6.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Family {
    /// IPv4.
    #[default]
    V4,
    /// IPv6.
    V6,
}

/// The key of the selection hash and of Maglev (D-6): 128 bits, the same on every appliance of a
/// fleet, secret.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct HashSeed(pub [u8; 16]);

impl std::fmt::Debug for HashSeed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HashSeed(secret)")
    }
}

/// A set of fields of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct FieldSet(u8);

impl FieldSet {
    /// Source address.
    pub const SRC: Self = Self(1);
    /// Source port.
    pub const SPORT: Self = Self(2);
    /// Protocol.
    pub const PROTO: Self = Self(4);
    /// Destination address.
    pub const DST: Self = Self(8);
    /// Destination port.
    pub const DPORT: Self = Self(16);

    /// Source address.
    pub const ONE_TUPLE: Self = Self::SRC;
    /// Source and destination address.
    pub const TWO_TUPLE: Self = Self(Self::SRC.0 | Self::DST.0);
    /// Source address, destination address, protocol.
    pub const THREE_TUPLE: Self = Self(Self::TWO_TUPLE.0 | Self::PROTO.0);
    /// Source address and port, protocol, destination address and port.
    pub const FIVE_TUPLE: Self = Self(Self::THREE_TUPLE.0 | Self::SPORT.0 | Self::DPORT.0);

    const NAMES: [&'static str; 5] = ["src", "sport", "proto", "dst", "dport"];

    /// Whether every field of `other` is in this set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The fields' names, in the order src, sport, proto, dst, dport.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        (0..5).filter(move |bit| self.0 & (1 << bit) != 0).map(|bit| Self::NAMES[bit])
    }

    const fn mask(self) -> &'static Mask {
        &MASKS[(self.0 & 31) as usize]
    }
}

impl std::fmt::Debug for FieldSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}

/// A flow's words: IPv6 addresses fill words 0 to 3 (source, then destination); IPv4 addresses
/// share word 0 (source in the high half) and leave 1 to 3 zero. Word 4, the tail, is
/// `sport:16 dport:16 proto:8 kind:8 service:16`, the last two zero but in a key.
type Words = [u64; 5];

const TAIL: usize = 4;

struct Mask {
    v4: Words,
    v6: Words,
}

const fn mask(set: FieldSet) -> Mask {
    const fn all_if(set: FieldSet, field: FieldSet) -> u64 {
        if set.contains(field) { u64::MAX } else { 0 }
    }
    let src = all_if(set, FieldSet::SRC);
    let dst = all_if(set, FieldSet::DST);
    let tail = all_if(set, FieldSet::SPORT) & 0xFFFF << 48
        | all_if(set, FieldSet::DPORT) & 0xFFFF << 32
        | all_if(set, FieldSet::PROTO) & 0xFF << 24;
    Mask {
        v4: [src & 0xFFFF_FFFF << 32 | dst & 0xFFFF_FFFF, 0, 0, 0, tail],
        v6: [src, src, dst, dst, tail],
    }
}

static MASKS: [Mask; 32] = {
    let mut masks = [const { mask(FieldSet(0)) }; 32];
    let mut bits = 0;
    while bits < 32 {
        masks[bits as usize] = mask(FieldSet(bits));
        bits += 1;
    }
    masks
};

/// A packet's five-tuple. Ports are zero where the packet has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    words: Words,
    family: Family,
}

impl Flow {
    /// An IPv4 flow; addresses in network byte order.
    #[inline]
    pub fn v4(src: [u8; 4], dst: [u8; 4], proto: u8, sport: u16, dport: u16) -> Self {
        let addresses =
            u64::from(u32::from_be_bytes(src)) << 32 | u64::from(u32::from_be_bytes(dst));
        Self { words: [addresses, 0, 0, 0, tail(proto, sport, dport)], family: Family::V4 }
    }

    /// An IPv4 flow without ports; addresses as numbers.
    #[inline]
    pub fn v4_without_ports(src: u32, dst: u32, proto: u8) -> Self {
        let addresses = u64::from(src) << 32 | u64::from(dst);
        Self { words: [addresses, 0, 0, 0, tail(proto, 0, 0)], family: Family::V4 }
    }

    /// The flow with source and destination port as they stand in the header, instead of none.
    #[inline]
    pub fn with_ports(mut self, ports: [u8; 4]) -> Self {
        self.words[TAIL] |= u64::from(u32::from_be_bytes(ports)) << 32;
        self
    }

    /// An IPv6 flow; addresses in network byte order.
    #[inline]
    pub fn v6(src: [u8; 16], dst: [u8; 16], proto: u8, sport: u16, dport: u16) -> Self {
        let [s0, s1] = halves(src);
        let [d0, d1] = halves(dst);
        Self { words: [s0, s1, d0, d1, tail(proto, sport, dport)], family: Family::V6 }
    }

    /// The same addresses with another protocol and other ports: what a later fragment takes over
    /// from its first one (S-6).
    pub fn carrying(mut self, proto: u8, sport: u16, dport: u16) -> Self {
        self.words[TAIL] = tail(proto, sport, dport);
        self
    }

    /// The address family.
    #[inline]
    pub fn family(&self) -> Family {
        self.family
    }

    /// The source address.
    #[inline]
    pub fn src(&self) -> IpAddr {
        match self.family {
            Family::V4 => Ipv4Addr::from((self.words[0] >> 32) as u32).into(),
            Family::V6 => from_halves(self.words[0], self.words[1]),
        }
    }

    /// The destination address.
    #[inline]
    pub fn dst(&self) -> IpAddr {
        match self.family {
            Family::V4 => Ipv4Addr::from(self.words[0] as u32).into(),
            Family::V6 => from_halves(self.words[2], self.words[3]),
        }
    }

    /// The IP protocol number; for IPv6 the one behind the extension headers.
    #[inline]
    pub fn proto(&self) -> u8 {
        (self.words[TAIL] >> 24) as u8
    }

    /// The source port, 0 where the packet has none.
    #[inline]
    pub fn sport(&self) -> u16 {
        (self.words[TAIL] >> 48) as u16
    }

    /// The destination port, 0 where the packet has none.
    #[inline]
    pub fn dport(&self) -> u16 {
        (self.words[TAIL] >> 32) as u16
    }

    /// The tracking key: the fields of `set`, and which fields and whose they are, so that keys of
    /// two kinds or of two services never meet (T-16).
    #[inline]
    pub fn key(&self, set: FieldSet, service: ServiceId) -> Key {
        let mut words = self.masked(set);
        words[TAIL] |= whose(set, service);
        Key { words, family: self.family }
    }

    /// The two words of an IPv4 flow's [`Flow::key`]: half of what making the whole key costs.
    #[inline]
    pub fn v4_key_words(&self, set: FieldSet, service: ServiceId) -> [u64; 2] {
        let mask = &set.mask().v4;
        [self.words[0] & mask[0], self.words[TAIL] & mask[TAIL] | whose(set, service)]
    }

    /// The five words of an IPv6 flow's [`Flow::key`].
    #[inline]
    pub fn v6_key_words(&self, set: FieldSet, service: ServiceId) -> [u64; 5] {
        let mask = &set.mask().v6;
        let mut words: Words = std::array::from_fn(|i| self.words[i] & mask[i]);
        words[TAIL] |= whose(set, service);
        words
    }

    /// An IPv4 flow's destination.
    #[inline]
    pub(crate) fn dst_v4(&self) -> u32 {
        self.words[0] as u32
    }

    /// An IPv6 flow's destination.
    #[inline]
    pub(crate) fn dst_v6(&self) -> u128 {
        u128::from(self.words[2]) << 64 | u128::from(self.words[3])
    }

    /// Whom the packet is for: two flows of one target have the same destination address, protocol
    /// and destination port.
    #[inline]
    pub fn target(&self) -> Target {
        const SERVICE: FieldSet = FieldSet(FieldSet::PROTO.0 | FieldSet::DPORT.0);
        let service = self.words[TAIL] & SERVICE.mask().v6[TAIL];
        match self.family {
            Family::V4 => Target([self.dst_v4().into(), 0, service]),
            Family::V6 => Target([self.words[2], self.words[3], service | 1]),
        }
    }

    /// The selection hash over the fields of `set` (S-1): SipHash-1-3 keyed with `seed` (D-6).
    pub fn selection_hash(&self, set: FieldSet, seed: &HashSeed) -> u64 {
        let words = self.masked(set);
        let hasher = SipHasher13::new_with_key(&seed.0);
        match self.family {
            Family::V4 => {
                let mut bytes = [0; 16];
                bytes[..8].copy_from_slice(&words[0].to_be_bytes());
                bytes[8..].copy_from_slice(&words[TAIL].to_be_bytes());
                hasher.hash(&bytes)
            }
            Family::V6 => {
                let mut bytes = [0; 40];
                for (chunk, word) in bytes.chunks_exact_mut(8).zip(words) {
                    chunk.copy_from_slice(&word.to_be_bytes());
                }
                hasher.hash(&bytes)
            }
        }
    }

    #[inline]
    fn masked(&self, set: FieldSet) -> Words {
        let mask = match self.family {
            Family::V4 => &set.mask().v4,
            Family::V6 => &set.mask().v6,
        };
        std::array::from_fn(|i| self.words[i] & mask[i])
    }
}

/// A key's kind and service.
#[inline]
fn whose(set: FieldSet, service: ServiceId) -> u64 {
    u64::from(set.0) << 16 | u64::from(service.0)
}

#[inline]
fn tail(proto: u8, sport: u16, dport: u16) -> u64 {
    u64::from(sport) << 48 | u64::from(dport) << 32 | u64::from(proto) << 24
}

#[inline]
fn halves(address: [u8; 16]) -> [u64; 2] {
    let whole = u128::from_be_bytes(address);
    [(whole >> 64) as u64, whole as u64]
}

#[inline]
fn from_halves(high: u64, low: u64) -> IpAddr {
    Ipv6Addr::from(u128::from(high) << 64 | u128::from(low)).into()
}

/// Destination address, protocol and destination port of a flow, for comparing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target([u64; 3]);

/// A tracking key: what the connection table compares, whole (D-3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Key {
    words: Words,
    family: Family,
}

impl Key {
    /// The address family; each has a table of its own.
    #[inline]
    pub fn family(&self) -> Family {
        self.family
    }

    /// The service that the key belongs to.
    #[inline]
    pub fn service(&self) -> ServiceId {
        ServiceId(self.words[TAIL] as u16)
    }

    /// The 16 bytes of an IPv4 key, as two words.
    #[inline]
    pub fn v4_words(&self) -> [u64; 2] {
        [self.words[0], self.words[TAIL]]
    }

    /// The 40 bytes of an IPv6 key, as five words.
    #[inline]
    pub fn v6_words(&self) -> [u64; 5] {
        self.words
    }

    /// The key that [`Key::v4_words`] came from.
    #[inline]
    pub fn from_v4_words([addresses, tail]: [u64; 2]) -> Self {
        Self { words: [addresses, 0, 0, 0, tail], family: Family::V4 }
    }

    /// The key that [`Key::v6_words`] came from.
    #[inline]
    pub fn from_v6_words(words: [u64; 5]) -> Self {
        Self { words, family: Family::V6 }
    }

    /// The fields that the key is made of.
    pub fn fields(&self) -> FieldSet {
        FieldSet((self.words[TAIL] >> 16) as u8)
    }

    /// The flow that the key is of; fields outside [`Key::fields`] are zero.
    pub fn flow(&self) -> Flow {
        let mut words = self.words;
        words[TAIL] &= !0xFF_FFFF;
        Flow { words, family: self.family }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEED: HashSeed = HashSeed(*b"0123456789abcdef");

    fn v4(sport: u16) -> Flow {
        Flow::v4([198, 51, 100, 7], [203, 0, 113, 10], 6, sport, 80)
    }

    fn v6(sport: u16) -> Flow {
        let address = |last| {
            let mut a = [0x20; 16];
            a[15] = last;
            a
        };
        Flow::v6(address(1), address(2), 17, sport, 53)
    }

    #[test]
    fn a_flow_gives_back_what_it_was_made_of() {
        assert_eq!(v4(40000).src(), IpAddr::from([198, 51, 100, 7]));
        assert_eq!(v4(40000).dst(), IpAddr::from([203, 0, 113, 10]));
        assert_eq!((v4(40000).sport(), v4(1).dport(), v4(1).proto()), (40000, 80, 6));
        let IpAddr::V6(src) = v6(1).src() else { panic!("not IPv6") };
        assert_eq!(src.octets()[15], 1);
    }

    #[test]
    fn a_key_holds_only_its_fields_its_kind_and_its_service() {
        for (a, b) in [(v4(1), v4(2)), (v6(1), v6(2))] {
            let service = ServiceId(9);
            assert_ne!(a.key(FieldSet::FIVE_TUPLE, service), b.key(FieldSet::FIVE_TUPLE, service));
            assert_eq!(
                a.key(FieldSet::THREE_TUPLE, service),
                b.key(FieldSet::THREE_TUPLE, service)
            );
            assert_ne!(
                a.key(FieldSet::TWO_TUPLE, service),
                a.key(FieldSet::TWO_TUPLE, ServiceId(8))
            );
            assert_eq!(a.key(FieldSet::ONE_TUPLE, service).service(), service);
            assert_eq!(a.key(FieldSet::TWO_TUPLE, service).fields(), FieldSet::TWO_TUPLE);
            assert_eq!(a.key(FieldSet::FIVE_TUPLE, service).flow(), a);
        }
    }

    #[test]
    fn a_target_is_destination_protocol_and_port() {
        assert_eq!(v4(1).target(), v4(2).target());
        assert_eq!(v6(1).target(), v6(2).target());
        let [src, dst] = [[198, 51, 100, 7], [203, 0, 113, 10]];
        for other in [
            Flow::v4(src, [203, 0, 113, 11], 6, 1, 80),
            Flow::v4(src, dst, 17, 1, 80),
            Flow::v4(src, dst, 6, 1, 81),
        ] {
            assert_ne!(other.target(), v4(1).target());
        }
        let mapped = |last: [u8; 4]| {
            let mut address = [0; 16];
            address[12..].copy_from_slice(&last);
            address
        };
        assert_ne!(Flow::v6(mapped(src), mapped(dst), 6, 1, 80).target(), v4(1).target());
    }

    #[test]
    fn the_words_of_a_key_are_the_keys() {
        for bits in 0..32 {
            let (set, service) = (FieldSet(bits), ServiceId(9));
            assert_eq!(v4(1).v4_key_words(set, service), v4(1).key(set, service).v4_words());
            assert_eq!(v6(1).v6_key_words(set, service), v6(1).key(set, service).v6_words());
        }
    }

    #[test]
    fn the_selection_hash_depends_on_exactly_its_fields_and_the_seed() {
        for (a, b) in [(v4(1), v4(2)), (v6(1), v6(2))] {
            let hash = |f: &Flow, set| f.selection_hash(set, &SEED);
            assert_ne!(hash(&a, FieldSet::FIVE_TUPLE), hash(&b, FieldSet::FIVE_TUPLE));
            assert_eq!(hash(&a, FieldSet::THREE_TUPLE), hash(&b, FieldSet::THREE_TUPLE));
            let other = HashSeed([7; 16]);
            assert_ne!(
                hash(&a, FieldSet::ONE_TUPLE),
                a.selection_hash(FieldSet::ONE_TUPLE, &other)
            );
        }
    }

    #[test]
    fn field_names_are_the_simulators() {
        let names: Vec<_> = FieldSet::FIVE_TUPLE.names().collect();
        assert_eq!(names, ["src", "sport", "proto", "dst", "dport"]);
        assert_eq!(FieldSet::TWO_TUPLE.names().collect::<Vec<_>>(), ["src", "dst"]);
    }
}
