//! Comparing a line of tags at once.

/// Bit `4 i + j` is set where lane `j` (from the low end) of word `i` equals `tag`.
#[inline(always)]
pub(super) fn lanes_equal(words: [u64; 8], tag: u16) -> u32 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE2 is part of every x86-64.
    return unsafe { lanes_equal_sse2(words, tag) };
    #[cfg(not(target_arch = "x86_64"))]
    lanes_equal_portable(words, tag)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse2")]
#[inline]
fn lanes_equal_sse2([a, b, c, d, e, f, g, h]: [u64; 8], tag: u16) -> u32 {
    use std::arch::x86_64::{
        __m128i, _mm_cmpeq_epi16, _mm_movemask_epi8, _mm_packs_epi16, _mm_set_epi64x,
        _mm_set1_epi16,
    };
    let tags = _mm_set1_epi16(tag as i16);
    let equal = |low: u64, high: u64| -> __m128i {
        _mm_cmpeq_epi16(_mm_set_epi64x(high as i64, low as i64), tags)
    };
    let first = _mm_movemask_epi8(_mm_packs_epi16(equal(a, b), equal(c, d)));
    let second = _mm_movemask_epi8(_mm_packs_epi16(equal(e, f), equal(g, h)));
    first as u32 | (second as u32) << 16
}

/// The obvious version: what other machines run, and the oracle of the test.
#[cfg(any(test, not(target_arch = "x86_64")))]
fn lanes_equal_portable(words: [u64; 8], tag: u16) -> u32 {
    let lanes = words.iter().flat_map(|word| (0..4).map(move |j| (word >> (16 * j)) as u16));
    lanes.enumerate().fold(0, |mask, (i, lane)| mask | u32::from(lane == tag) << i)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fast_comparison_agrees_with_the_obvious_one() {
        for lane in 0..32 {
            for (filler, tag) in [(0, 0xFFFF), (0xFFFF_FFFF_FFFF_FFFF, 0), (0x8000, 0x7FFF)] {
                let mut words = [filler; 8];
                let shift = 16 * (lane % 4);
                words[lane / 4] = words[lane / 4] & !(0xFFFF << shift) | u64::from(tag) << shift;
                let expected = lanes_equal_portable(words, tag);
                assert!(expected & 1 << lane != 0);
                assert_eq!(lanes_equal(words, tag), expected, "lane {lane}, tag {tag:#x}");
            }
        }
    }
}
