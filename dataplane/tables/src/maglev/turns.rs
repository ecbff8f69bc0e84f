//! Whose turn it is to take a slot.

/// The members in the order in which they take slots, one element a slot.
///
/// The heaviest member has a turn in every round; the k-th turn (from 0) of another comes in round
/// `k × heaviest ÷ weight`, and within a round they go by name. So with equal weights everyone has
/// a turn in every round, which is Maglev as published; and everyone's first slot is its favourite
/// one but for those before it, which keeps the smallest ones in place when others change (S-3).
/// A member's turns end with its count.
pub(super) fn turns(weights: &[u32], counts: &[u32]) -> Vec<u16> {
    let heaviest = weights.iter().copied().max().unwrap_or(0);
    if weights.iter().all(|weight| *weight == heaviest) {
        // What the sort would give, without its passes: most sets are so.
        let all = counts.iter().sum::<u32>() as usize;
        return (0..weights.len() as u16).cycle().take(all).collect();
    }
    let schedule = Schedule { heaviest, weights, counts };
    // A counting sort by round: how many turns in each round, where each round starts, then place.
    let mut starts: Vec<u32> = Vec::new();
    schedule.visit(|_, round| {
        if starts.len() <= round + 1 {
            starts.resize(round + 2, 0);
        }
        starts[round + 1] += 1;
    });
    for round in 1..starts.len() {
        starts[round] += starts[round - 1];
    }
    let mut turns = vec![0; starts.last().map_or(0, |all| *all as usize)];
    schedule.visit(|member, round| {
        turns[starts[round] as usize] = member;
        starts[round] += 1;
    });
    turns
}

struct Schedule<'a> {
    heaviest: u32,
    weights: &'a [u32],
    counts: &'a [u32],
}

impl Schedule<'_> {
    /// Calls `turn(member, round)` for every turn, member by member.
    fn visit(&self, mut turn: impl FnMut(u16, usize)) {
        let heaviest = u64::from(self.heaviest);
        for (member, (weight, count)) in self.weights.iter().zip(self.counts).enumerate() {
            // `round` is k × heaviest ÷ weight, kept up without dividing. Weight 0 has no turn.
            let weight = u64::from(*weight).max(1);
            let (whole, rest) = (heaviest / weight, heaviest % weight);
            let (mut round, mut remainder) = (0, 0);
            for _ in 0..*count {
                turn(member as u16, round);
                remainder += rest;
                let carry = remainder >= weight;
                remainder -= if carry { weight } else { 0 };
                round += whole as usize + usize::from(carry);
            }
        }
    }
}
