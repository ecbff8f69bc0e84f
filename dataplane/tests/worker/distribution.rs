//! S-4: shares of 100,000 random flows, through the whole worker.

use crate::rig::*;

/// Each backend's share of 100,000 flows, in percent.
fn shares(weights: &[u32]) -> Vec<f64> {
    let mut rig = Rig::new(tables(weights, None));
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut counts = vec![0_u32; weights.len()];
    for _ in 0..1000 {
        let frames: Vec<_> = (0..100).map(|_| random_syn(&mut state)).collect();
        rig.send(frames.iter().map(|f| &**f));
        rig.backends().into_iter().for_each(|backend| counts[usize::from(backend)] += 1);
    }
    counts.iter().map(|count| f64::from(*count) / 1000.0).collect()
}

/// xorshift64
fn random_syn(state: &mut u64) -> Vec<u8> {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    let [a, b, c, d, e, f, ..] = state.to_be_bytes();
    tcp([1 + a % 126, b, c, d], u16::from_be_bytes([e, f]), 80, true, 0)
}

#[test]
fn s4_seven_backends_get_within_two_points_of_an_even_share() {
    for share in shares(&[1; 7]) {
        assert!((share - 100.0 / 7.0).abs() < 2.0, "{share}");
    }
}

#[test]
fn s4_weights_1_and_4_give_20_and_80_percent() {
    let shares = shares(&[1, 4]);
    assert!((shares[0] - 20.0).abs() < 2.0, "{shares:?}");
}
