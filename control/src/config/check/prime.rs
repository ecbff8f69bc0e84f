//! Primes near a number: Maglev tables have a prime size.

/// Whether `n` is prime; `n` is a table size, so trial division is quick enough.
pub(super) fn is_prime(n: u32) -> bool {
    n >= 2 && (2..).take_while(|d| d * d <= n).all(|d| !n.is_multiple_of(d))
}

/// The nearest primes below and above.
pub(super) fn neighbours(n: u32) -> (Option<u32>, Option<u32>) {
    ((2..n).rev().find(|p| is_prime(*p)), (n + 1..=u32::MAX).find(|p| is_prime(*p)))
}

/// The smallest prime that is at least `n`.
pub(super) fn at_least(n: u32) -> Option<u32> {
    (n..=u32::MAX).find(|p| is_prime(*p))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn primes_are_found_on_both_sides() {
        assert!(is_prime(65_537) && is_prime(2) && is_prime(5_000_011));
        assert!(!is_prime(65_536) && !is_prime(1) && !is_prime(0) && !is_prime(251 * 257));
        assert_eq!(neighbours(65_536), (Some(65_521), Some(65_537)));
        assert_eq!(at_least(100), Some(101));
    }
}
