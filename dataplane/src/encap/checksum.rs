//! Internet checksums (RFC 1071) of what is not a single header, and changes to them (RFC 1624).

/// The sum of `bytes` as big-endian 16-bit words, a last odd byte as a word's first; folded, so
/// that it can be added to others. Sums are the same whichever way words are read, but for a swap
/// at the end, so that they may be read four bytes at a time.
#[inline]
pub(crate) fn sum(bytes: &[u8]) -> u32 {
    let (words, rest) = bytes.as_chunks::<4>();
    let mut last = [0; 4];
    for (to, from) in last.iter_mut().zip(rest) {
        *to = *from;
    }
    let words = words.iter().map(|word| u64::from(u32::from_ne_bytes(*word)));
    let sum = words.sum::<u64>() + u64::from(u32::from_ne_bytes(last));
    u16::from_be(fold(sum)).into()
}

/// Adds what has no room back at the low end. A sum of something that is not all zero is not zero.
#[inline]
fn fold(mut sum: u64) -> u16 {
    sum = (sum & 0xFFFF_FFFF) + (sum >> 32);
    sum = (sum & 0xFFFF_FFFF) + (sum >> 32);
    sum = (sum & 0xFFFF) + (sum >> 16);
    sum = (sum & 0xFFFF) + (sum >> 16);
    sum = (sum & 0xFFFF) + (sum >> 16);
    sum as u16
}

/// The checksum of words that add up to `sum`.
#[inline]
pub(crate) fn of(sum: u32) -> u16 {
    !fold(sum.into())
}

/// Where zero says "no checksum", the other zero stands for it (RFC 768, RFC 8200 section 8.1).
#[inline]
pub(crate) fn never_zero(checksum: u16) -> u16 {
    if checksum == 0 { 0xFFFF } else { checksum }
}

/// Words that a checksum covers and that were replaced by others.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Change(u32);

impl Change {
    /// One more word. A header has too few of them for an overflow.
    #[inline]
    pub(crate) fn word(self, old: u16, new: u16) -> Self {
        Self(self.0 + u32::from(!old) + u32::from(new))
    }

    /// Many of them.
    #[inline]
    pub(crate) fn words(self, old: &[u8], new: &[u8]) -> Self {
        let pairs = old.as_chunks::<2>().0.iter().zip(new.as_chunks::<2>().0);
        pairs.fold(self, |change, (old, new)| {
            change.word(u16::from_be_bytes(*old), u16::from_be_bytes(*new))
        })
    }

    /// What a checksum becomes by it: wrong by as much as it was before (RFC 1624, equation 3).
    #[inline]
    pub(crate) fn applied_to(self, checksum: u16) -> u16 {
        of(u32::from(!checksum) + self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As RFC 1071 words it.
    fn slow(bytes: &[u8]) -> u16 {
        let mut sum = 0_u32;
        for pair in bytes.chunks(2) {
            sum += u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
        }
        while sum > 0xFFFF {
            sum = (sum & 0xFFFF) + (sum >> 16);
        }
        sum as u16
    }

    #[test]
    fn sums_agree_with_the_slow_ones_for_every_length() {
        let bytes: Vec<u8> =
            (0..1600_u32).map(|i| (i.wrapping_mul(0x9E37_79B1) >> 13) as u8).collect();
        for length in 0..bytes.len() {
            assert_eq!(sum(&bytes[..length]), slow(&bytes[..length]).into(), "{length}");
        }
        assert_eq!(sum(&[0xFF; 65_536]), 0xFFFF);
        assert_eq!(sum(&[0; 64]), 0);
    }

    #[test]
    fn a_changed_checksum_is_that_of_the_changed_words() {
        for old in [0x0000_u16, 0x0001, 0x7FFF, 0xFFFE, 0xFFFF] {
            for new in [0x0000_u16, 0x0001, 0x8000, 0xFFFE, 0xFFFF] {
                let of_words = |word: u16| of(u32::from(word) + 0x4500);
                let changed = Change::default().word(old, new).applied_to(of_words(old));
                assert_eq!(changed, of_words(new), "{old:#x} to {new:#x}");
            }
        }
    }
}
