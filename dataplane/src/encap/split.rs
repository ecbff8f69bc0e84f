//! An IPv4 packet → the fragments that fit (RFC 791, section 3.2).

use arrayvec::ArrayVec;

use super::checksum;

const HEADER: usize = 20;
const LONGEST_HEADER: usize = 60;
/// Offsets count in these.
const UNIT: usize = 8;
/// The largest packet that can be put together again, bytes.
const LARGEST: usize = 65_535;

const MORE: u16 = 0x2000;
const OFFSET: u16 = 0x1FFF;

/// A fragment's header, its checksum included.
type Header = ArrayVec<u8, LONGEST_HEADER>;

/// One fragment.
pub(super) struct Piece<'p> {
    /// Its IP header.
    pub(super) header: Header,
    /// What is behind it.
    pub(super) payload: &'p [u8],
    /// Whether the transport header is in it.
    pub(super) first: bool,
}

/// The fragments of one packet, first to last.
pub(super) struct Pieces<'p> {
    header: Header,
    rest: &'p [u8],
    /// Flags and offset of what is left.
    place: u16,
    largest: usize,
}

/// Why a packet cannot be fragmented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whole {
    /// Its header is wrong: new ones would hide that.
    BadHeader,
    /// Not even eight bytes fit behind its header, or it ends where no packet can.
    NoRoom,
}

impl<'p> Pieces<'p> {
    /// Fragments of at most `largest` bytes, headers included. `packet` may itself be a fragment.
    pub(super) fn of(packet: &'p [u8], largest: u16) -> Result<Self, Whole> {
        let first = packet.first().ok_or(Whole::BadHeader)?;
        let length = usize::from(first & 0x0F) * 4;
        let (header, rest) = packet.split_at_checked(length).ok_or(Whole::BadHeader)?;
        let place = header.get(6..).and_then(|b| b.first_chunk()).ok_or(Whole::BadHeader)?;
        let place = u16::from_be_bytes(*place);
        if checksum::of(checksum::sum(header)) != 0 {
            return Err(Whole::BadHeader);
        }
        let start = usize::from(place & OFFSET) * UNIT;
        let largest = usize::from(largest);
        if largest < length + UNIT || start + rest.len() + length > LARGEST {
            return Err(Whole::NoRoom);
        }
        let header = Header::try_from(header).map_err(|_| Whole::BadHeader)?;
        Ok(Self { header, rest, place, largest })
    }

    /// How much payload goes into the next fragment.
    fn share(&self) -> usize {
        let room = self.largest.saturating_sub(self.header.len());
        if self.rest.len() <= room { self.rest.len() } else { room - room % UNIT }
    }
}

impl<'p> Iterator for Pieces<'p> {
    type Item = Piece<'p>;

    fn next(&mut self) -> Option<Piece<'p>> {
        if self.rest.is_empty() {
            return None;
        }
        let first = self.place & OFFSET == 0;
        let (payload, rest) = self.rest.split_at_checked(self.share())?;
        let more = if rest.is_empty() { 0 } else { MORE };
        let header = complete(&self.header, payload.len(), self.place | more)?;
        self.place = self.place.wrapping_add((payload.len() / UNIT) as u16);
        self.rest = rest;
        self.header = copied(&self.header);
        Some(Piece { header, payload, first })
    }
}

/// The header with a fragment's own length, place and checksum.
fn complete(header: &Header, payload: usize, place: u16) -> Option<Header> {
    let mut header = header.clone();
    let length = header.len();
    let fixed: &mut [u8; HEADER] = header.first_chunk_mut()?;
    let [v, _, n0, n1, _, _, p0, p1, _, _, c0, c1, ..] = fixed;
    *v = 0x40 | (length / 4) as u8;
    [*n0, *n1] = ((length + payload) as u16).to_be_bytes();
    [*p0, *p1] = place.to_be_bytes();
    [*c0, *c1] = [0, 0];
    let sum = checksum::of(checksum::sum(&header)).to_be_bytes();
    header.get_mut(10..12)?.copy_from_slice(&sum);
    Some(header)
}

/// The header with only those options that every fragment has.
fn copied(header: &Header) -> Header {
    let (fixed, mut options) = header.split_at(HEADER.min(header.len()));
    let mut kept: Header = fixed.iter().copied().collect();
    while let Some((option, rest)) = next_option(options) {
        if option.first().is_some_and(|kind| kind & COPIED != 0) {
            kept.extend(option.iter().copied());
        }
        options = rest;
    }
    while kept.len() % 4 != 0 {
        kept.push(END);
    }
    kept
}

const COPIED: u8 = 0x80;
const END: u8 = 0;
const NO_OPERATION: u8 = 1;

/// An option and what is behind it; none at the end of the list, or where a length is wrong.
fn next_option(options: &[u8]) -> Option<(&[u8], &[u8])> {
    let length = match *options {
        [] | [END, ..] => return None,
        [NO_OPERATION, ..] => 1,
        [_, length, ..] if length >= 2 => length.into(),
        [..] => return None,
    };
    options.split_at_checked(length)
}

#[cfg(test)]
mod tests;
