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
    u16::from_be(fold(add(words) + add(&[last]))).into()
}

/// The sum of words as they stand in memory.
#[inline(always)]
fn add(words: &[[u8; 4]]) -> u64 {
    words.iter().map(|word| u64::from(u32::from_ne_bytes(*word))).sum()
}

/// Whether an IPv4 header without options has the checksum that goes with it.
#[inline(always)]
pub(crate) fn is_right(header: &[u8; 20]) -> bool {
    // Whole words are loaded as such: bytes put together would cost twice the rest.
    let words = (header.first_chunk(), header.get(8..).and_then(<[u8]>::first_chunk));
    let ((Some(first), Some(second)), Some(last)) = (words, header.last_chunk()) else {
        return false;
    };
    let (first, second) = (u64::from_ne_bytes(*first), u64::from_ne_bytes(*second));
    is_right_in_words(first, second, u32::from_ne_bytes(*last))
}

/// The same for a header as two long words and a short one, in whatever order of bytes.
#[inline(always)]
pub(crate) fn is_right_in_words(first: u64, second: u64, last: u32) -> bool {
    let (sum, carried) = first.overflowing_add(second);
    let (sum, again) = sum.overflowing_add(u64::from(last) + u64::from(carried));
    // All ones once folded is a multiple of this; and no header is nothing but zeros.
    sum.wrapping_add(again.into()) % 0xFFFF == 0
}

/// The same for any header, whose length is a multiple of four.
#[cold]
#[inline(never)]
pub(crate) fn is_right_with_options(header: &[u8]) -> bool {
    fold(add(header.as_chunks().0)) == 0xFFFF
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
    fn of_all_checksums_of_a_header_one_is_right() {
        for (first, options) in [(0x45, 0), (0x46, 4), (0x4F, 40)] {
            let mut header = vec![first, 0, 0, 60, 0x12, 0x34, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1];
            header.extend([203, 0, 113, 10]);
            header.extend((0..options).map(|i: u8| i.wrapping_mul(7)));
            let right: Vec<u16> = (0..=0xFFFF_u16)
                .filter(|checksum| {
                    header[10..12].copy_from_slice(&checksum.to_be_bytes());
                    is_right_with_options(&header)
                })
                .collect();
            header[10..12].fill(0);
            assert_eq!(right, [!slow(&header)], "{options}");
        }
    }

    #[test]
    fn both_ways_to_judge_a_header_agree() {
        let mut state = 1_u64;
        let mut agreed = [0; 2];
        for round in 0..200_000 {
            let mut header: [u8; 20] = std::array::from_fn(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                // Now and then nothing but ones or zeros: the carries' edges.
                match (state >> 60, round % 3) {
                    (0..6, 0) => 0xFF,
                    (6..9, 0) => 0,
                    _ => (state >> 33) as u8,
                }
            });
            header[0] |= 0x40;
            if round % 2 == 0 {
                header[10..12].fill(0);
                let sum = slow(&header);
                header[10..12].copy_from_slice(&(!sum).to_be_bytes());
            }
            let right = is_right(&header);
            assert_eq!(right, slow(&header) == 0xFFFF, "{header:x?}");
            assert_eq!(right, is_right_with_options(&header), "{header:x?}");
            agreed[usize::from(right)] += 1;
        }
        assert!(agreed.iter().all(|count| *count > 90_000), "{agreed:?}");
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
