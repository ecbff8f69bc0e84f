//! What memory alone costs: the unit cancels the clock, but not this.

use std::hint::black_box;

use dataplane::batch::BURST;
use dataplane::prefetch::prefetch;
use rustix::mm::{Advice, madvise};

use crate::clock::time;

/// Bytes of the region.
pub const REGION: usize = 128 << 20;

/// A region of cache lines, in huge pages if the kernel has them.
#[derive(Debug)]
pub struct Floor {
    lines: Vec<[u64; 8]>,
    state: u64,
}

impl Default for Floor {
    fn default() -> Self {
        let mut lines: Vec<[u64; 8]> = Vec::with_capacity(REGION / 64);
        let start = lines.as_mut_ptr().map_addr(|address| address.next_multiple_of(4096));
        // SAFETY: advice on whole pages within what the vector owns changes no content.
        let _ = unsafe { madvise(start.cast(), REGION - 4096, Advice::LinuxHugepage) };
        lines.resize(REGION / 64, [1; 8]);
        Self { lines, state: 0x9E37_79B9_7F4A_7C15 }
    }
}

impl Floor {
    /// Nanoseconds a random line, prefetched a burst at a time.
    pub fn prefetched(&mut self, lines: usize) -> f64 {
        let mut sum = 0;
        let all = time(|| {
            for _ in 0..lines / BURST {
                let at: [usize; BURST] = std::array::from_fn(|_| self.next());
                at.iter().for_each(|i| prefetch(&self.lines[*i]));
                sum += at.iter().map(|i| self.lines[*i][0]).sum::<u64>();
            }
        });
        black_box(sum);
        all / lines as f64
    }

    /// Nanoseconds a random line whose place the one before decides.
    pub fn dependent(&mut self, lines: usize) -> f64 {
        let mut at = 0;
        let all = time(|| {
            for _ in 0..lines {
                at = (self.next() + self.lines[at][0] as usize) % self.lines.len();
            }
        });
        black_box(at);
        all / lines as f64
    }

    /// Nanoseconds a key that takes `LINES` random lines, asked for together a burst at a time; of
    /// each burst `again` keys then take one more, whose place the first ones decide.
    pub fn keys<const LINES: usize>(&mut self, keys: usize, again: usize) -> f64 {
        let mut sum = 0;
        let all = time(|| {
            for _ in 0..keys / BURST {
                let at: [[usize; LINES]; BURST] =
                    std::array::from_fn(|_| std::array::from_fn(|_| self.next()));
                at.as_flattened().iter().for_each(|i| prefetch(&self.lines[*i]));
                let mut last = [0; BURST];
                for (index, (at, last)) in at.iter().zip(&mut last).enumerate() {
                    let read: u64 = at.iter().map(|i| self.lines[*i][0]).sum();
                    *last = at[if index < again { 0 } else { LINES - 1 }];
                    if index < again {
                        *last = (*last + read as usize * 1_000) % self.lines.len();
                        prefetch(&self.lines[*last]);
                    }
                }
                sum += last.iter().map(|i| self.lines[*i][0]).sum::<u64>();
            }
        });
        black_box(sum);
        all / keys as f64
    }

    fn next(&mut self) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        ((self.state >> 32) as usize * self.lines.len()) >> 32
    }
}
