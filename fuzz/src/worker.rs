//! Any frames through two workers that share everything: each ends in exactly one outcome or is
//! held (D-7), and what is sent is right.

use crate::appliance::Appliance;
use crate::shape;

/// Runs one input: for each frame what to make of its bytes, their number, and the bytes.
pub fn run(data: &[u8]) {
    let mut appliance = Appliance::new();
    let mut rest = data;
    while let Some(([control, high, low], behind)) = rest.split_first_chunk::<3>() {
        let length = usize::from(u16::from_be_bytes([*high, *low])).min(behind.len());
        let (bytes, behind) = behind.split_at(length);
        appliance.wait(u32::from(control >> 5));
        appliance.arrive(usize::from(control >> 4 & 1), &shape::frame(*control, bytes));
        if control & 8 != 0 {
            appliance.step();
        }
        rest = behind;
    }
    appliance.finish();
}
