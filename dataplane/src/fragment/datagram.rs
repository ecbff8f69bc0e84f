//! Which datagram a fragment is of, and who has to ask.

use tables::{Family, FieldSet, ServiceId};

use crate::parse::{Fragment, Parsed};

const TCP: u8 = 6;

/// What all fragments of a datagram have in common (RFC 791, RFC 8200 4.5), and its hash. Over
/// IPv6 that is not the protocol: each fragment names a next header of its own, and only the first
/// one's counts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Datagram {
    pub(super) words: [u64; 5],
    pub(super) hash: u64,
}

/// The compared words: a tracking key's layout, the identification where the ports would be.
pub(super) fn words(parsed: &Parsed) -> [u64; 5] {
    let common = match parsed.flow.family() {
        Family::V4 => FieldSet::THREE_TUPLE,
        Family::V6 => FieldSet::TWO_TUPLE,
    };
    let [a, b, c, d, tail] = parsed.flow.key(common, ServiceId(0)).v6_words();
    [a, b, c, d, tail | u64::from(parsed.fragment_id) << 32]
}

/// Whether it is a first fragment that later ones may ask for.
pub(super) fn tells(parsed: &Parsed) -> bool {
    parsed.fragment == Fragment::First && parsed.fault.is_none() && is_concerned(parsed)
}

/// Whether it is a later fragment that cannot be classified by itself.
pub(super) fn asks(parsed: &Parsed) -> bool {
    parsed.fragment == Fragment::Later && parsed.fault.is_none() && is_concerned(parsed)
}

/// An error goes by what it quotes (S-7), not by how it came.
fn is_concerned(parsed: &Parsed) -> bool {
    let by_first = parsed.flow.proto() == TCP || parsed.chained;
    by_first && !parsed.quotes()
}
