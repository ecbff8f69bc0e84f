//! Ratios, exact on the decimal that was written (E-7).

/// An exact decimal between 0 and 1 as it was written: `numerator / denominator`, the denominator
/// a power of ten (E-7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ratio {
    numerator: u64,
    denominator: u64,
}

impl Default for Ratio {
    fn default() -> Self {
        Self { numerator: 0, denominator: 1 }
    }
}

/// Why a text is no [`Ratio`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RatioError {
    /// Not a decimal number.
    #[error("not a decimal number")]
    NotANumber,
    /// Below 0 or above 1.
    #[error("not within 0.0 to 1.0")]
    OutOfRange,
    /// Finer than can be compared exactly.
    #[error("more than 18 decimal places")]
    TooFine,
}

impl Ratio {
    /// 0.0
    pub fn is_zero(self) -> bool {
        self.numerator == 0
    }

    /// The nearest floating-point number, for people to read; nothing is decided by it.
    pub fn as_f64(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }

    /// Whether `part / whole >= self`, exactly. An empty whole meets no ratio but zero.
    pub fn is_met_by(self, part: usize, whole: usize) -> bool {
        part as u128 * u128::from(self.denominator) >= whole as u128 * u128::from(self.numerator)
            && (whole > 0 || self.is_zero())
    }
}

impl std::str::FromStr for Ratio {
    type Err = RatioError;

    /// Reads a TOML number: `0.07`, `1`, `7e-2`, `+0.5`, `0.000_1`.
    fn from_str(text: &str) -> Result<Self, RatioError> {
        let text = text.replace('_', "");
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((m, e)) => (m, e.parse::<i32>().map_err(|_| RatioError::NotANumber)?),
            None => (text.as_str(), 0),
        };
        let (negative, mantissa) = match mantissa.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, mantissa.strip_prefix('+').unwrap_or(mantissa)),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{whole}{fraction}");
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(RatioError::NotANumber);
        }
        let significant = digits.trim_start_matches('0');
        let trimmed = significant.trim_end_matches('0');
        if trimmed.is_empty() {
            return Ok(Self::default());
        }
        if negative {
            return Err(RatioError::OutOfRange);
        }
        // The value is `trimmed` × 10^-places.
        let dropped = (significant.len() - trimmed.len()) as i64;
        let places = fraction.len() as i64 - i64::from(exponent) - dropped;
        if places < trimmed.len() as i64 && (places, trimmed) != (0, "1") {
            return Err(RatioError::OutOfRange);
        }
        if places > 18 {
            return Err(RatioError::TooFine);
        }
        let numerator = trimmed.parse().map_err(|_| RatioError::TooFine)?;
        Ok(Self { numerator, denominator: 10u64.pow(places as u32) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_compared_on_the_decimal_that_was_written() {
        let ratio = |text: &str| text.parse::<Ratio>();
        // E-7: in binary floating point 0.07 × 100 is more than 7.
        assert!(ratio("0.07").expect("valid").is_met_by(7, 100));
        assert!(!ratio("0.07").expect("valid").is_met_by(69, 1000));
        assert_eq!(ratio("7e-2"), ratio("0.070"));
        assert_eq!(ratio("1"), ratio("+1.000"));
        assert_eq!(ratio("1.0e0"), ratio("0.01e2"));
        assert!(ratio("1.0").expect("valid").is_met_by(3, 3));
        assert_eq!(ratio("-0.0"), Ok(Ratio::default()));
        assert!(ratio("0").expect("valid").is_met_by(0, 0));
        assert!(!ratio("0.1").expect("valid").is_met_by(0, 0));
    }

    #[test]
    fn ratios_outside_their_range_are_refused() {
        let error = |text: &str| text.parse::<Ratio>().expect_err(text);
        for text in ["1.01", "2", "-0.01", "1e1", "10", "1.000000001"] {
            assert_eq!(error(text), RatioError::OutOfRange, "{text}");
        }
        for text in ["", "nan", "inf", ".", "0x1", "1e", "--1"] {
            assert_eq!(error(text), RatioError::NotANumber, "{text}");
        }
        assert_eq!(error("0.0000000000000000001"), RatioError::TooFine);
    }
}
