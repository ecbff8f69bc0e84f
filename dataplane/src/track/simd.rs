//! Comparing a line of tags at once.

use super::sync::AtomicU64;
#[cfg(any(test, loom, not(target_arch = "x86_64")))]
use super::sync::Ordering;

/// One bit for each of a line's 16-bit lanes that equals `tag`: bit `4 i + j` for lane `j` (from the
/// low end) of word `i`.
#[cfg(all(target_arch = "x86_64", not(loom)))]
#[inline(always)]
pub(super) fn lanes_equal(line: &[AtomicU64; 8], tag: u16) -> u32 {
    use std::arch::asm;
    use std::arch::x86_64::{
        __m128i, _mm_cmpeq_epi16, _mm_movemask_epi8, _mm_packs_epi16, _mm_set1_epi16,
    };
    let (a, b, c, d): (__m128i, __m128i, __m128i, __m128i);
    // JUSTIFICATION: loaded word by word a line takes twelve instructions more, a third of the whole
    // comparison, and an insert compares eight lines.
    // SAFETY: reads the line's 64 bytes, which `line` keeps alive, aligned as `Tags` is. To x86 an
    // aligned load is its eight-byte halves at least, each read at once: eight relaxed loads.
    unsafe {
        asm!(
            "movdqu {a}, [{line}]",
            "movdqu {b}, [{line} + 16]",
            "movdqu {c}, [{line} + 32]",
            "movdqu {d}, [{line} + 48]",
            line = in(reg) line,
            a = out(xmm_reg) a,
            b = out(xmm_reg) b,
            c = out(xmm_reg) c,
            d = out(xmm_reg) d,
            options(readonly, nostack, preserves_flags),
        );
    }
    // SAFETY: SSE2 is part of every x86-64.
    unsafe {
        let tags = _mm_set1_epi16(tag as i16);
        let equal = |lanes: __m128i| _mm_cmpeq_epi16(lanes, tags);
        let first = _mm_movemask_epi8(_mm_packs_epi16(equal(a), equal(b)));
        let second = _mm_movemask_epi8(_mm_packs_epi16(equal(c), equal(d)));
        first as u32 | (second as u32) << 16
    }
}

/// The same.
#[cfg(any(loom, not(target_arch = "x86_64")))]
pub(super) fn lanes_equal<const N: usize>(line: &[AtomicU64; N], tag: u16) -> u32 {
    lanes_equal_portable(line, tag)
}

/// The obvious version: what other machines run, and the oracle of the test.
#[cfg(any(test, loom, not(target_arch = "x86_64")))]
fn lanes_equal_portable(line: &[AtomicU64], tag: u16) -> u32 {
    let words = line.iter().map(|word| word.load(Ordering::Relaxed));
    let lanes = words.flat_map(|word| (0..4).map(move |j| (word >> (16 * j)) as u16));
    lanes.enumerate().fold(0, |mask, (i, lane)| mask | u32::from(lane == tag) << i)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_fast_comparison_agrees_with_the_obvious_one() {
        for lane in 0..32 {
            for (filler, tag) in [(0, 0xFFFF), (0xFFFF_FFFF_FFFF_FFFF, 0), (0x8000, 0x7FFF)] {
                let mut words = [filler; 8];
                let shift = 16 * (lane % 4);
                words[lane / 4] = words[lane / 4] & !(0xFFFF << shift) | u64::from(tag) << shift;
                let line = words.map(AtomicU64::new);
                let expected = lanes_equal_portable(&line, tag);
                assert!(expected & 1 << lane != 0);
                assert_eq!(lanes_equal(&line, tag), expected, "lane {lane}, tag {tag:#x}");
            }
        }
    }
}
