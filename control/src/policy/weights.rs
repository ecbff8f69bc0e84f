//! A backend's weight: from its checks' response header, else static, else 1 (W-1 to W-3, W-6).

use crate::model::{CheckProtocol, Profile};

/// The response header that carries a weight (W-1).
pub const HEADER: &str = "X-Load-Balancing-Endpoint-Weight";

/// The largest weight.
pub const MAX: u16 = 1000;

/// What is wrong with a response's weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The response has no such header.
    #[error("the response has no {HEADER} header")]
    Missing,
    /// The header is no integer of 0 to 1000.
    #[error("the {HEADER} header is no integer of 0 to {MAX}")]
    Malformed,
}

/// Reads the header's value: decimal digits, 0 to 1000, and nothing else. White space around it
/// is not part of a field's value (RFC 9110, 5.5); leading zeros change nothing; a sign, a
/// fraction, a list or an empty value is malformed.
pub fn parse(value: &[u8]) -> Result<u16, Fault> {
    let digits = value.trim_ascii();
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(Fault::Malformed);
    }
    let weight = digits
        .iter()
        .fold(0, |sum: u32, digit| sum.saturating_mul(10).saturating_add(u32::from(digit - b'0')));
    u16::try_from(weight).ok().filter(|weight| *weight <= MAX).ok_or(Fault::Malformed)
}

/// Whether the header counts at all (W-6): `gcp-external` takes it from a check of protocol
/// HTTP, `native` also from HTTPS and HTTP/2. The other profiles have no weights (P-2, E-9).
pub fn header_counts(profile: Profile, protocol: CheckProtocol) -> bool {
    use CheckProtocol::{Http, Http2, Https};
    match profile {
        Profile::GcpExternal => protocol == Http,
        Profile::Native => matches!(protocol, Http | Https | Http2),
        Profile::GcpInternal | Profile::Azure => false,
    }
}

/// The weight that counts (W-1, W-3): the last good one of a header, else the static one, else 1.
pub fn effective(header: Option<u16>, fixed: Option<u16>) -> u16 {
    header.or(fixed).unwrap_or(1)
}

/// What one backend's responses said of its weight, one check at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeaderWeight {
    last_good: Option<u16>,
    fault: Option<Fault>,
}

/// What one response changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WeightReport {
    /// The last good weight is another than before.
    pub changed: bool,
    /// To be counted, each time.
    pub fault: Option<Fault>,
    /// The fault, or its absence, is another than at the last response: to be logged (W-1).
    pub log: bool,
}

impl HeaderWeight {
    /// The last good weight, for [`effective`]; `None`: there never was one.
    pub fn last_good(&self) -> Option<u16> {
        self.last_good
    }

    /// Takes a complete response's header, whatever the status (W-1). A check without a response
    /// is not to be told: it keeps the last weight and is no fault of the header.
    pub fn observe(&mut self, header: Option<&[u8]>) -> WeightReport {
        let before = *self;
        match header.ok_or(Fault::Missing).and_then(parse) {
            Ok(weight) => *self = Self { last_good: Some(weight), fault: None },
            Err(fault) => self.fault = Some(fault),
        }
        WeightReport {
            changed: self.last_good != before.last_good,
            fault: self.fault,
            log: self.fault != before.fault,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_an_integer_of_0_to_1000() {
        for (value, weight) in [
            ("0", 0),
            ("1", 1),
            ("999", 999),
            ("1000", 1000),
            (" 5\t", 5),
            ("007", 7),
            ("00000000000000000000042", 42),
        ] {
            assert_eq!(parse(value.as_bytes()), Ok(weight), "{value:?}");
        }
    }

    #[test]
    fn everything_else_is_malformed() {
        let wrap = "65537 4294967296 4294967301 18446744073709551621";
        for value in wrap.split(' ').chain([
            "", " ", "-1", "-0", "+5", "5.0", "5e2", "1001", "0x10", "5 6", "5,6", "5;", "abc",
            "٥", "1_0", "\"5\"",
        ]) {
            assert_eq!(parse(value.as_bytes()), Err(Fault::Malformed), "{value:?}");
        }
        assert_eq!(parse(b"5\xff"), Err(Fault::Malformed));
        assert_eq!(parse(b"5\0"), Err(Fault::Malformed));
    }

    #[test]
    fn the_header_goes_before_the_static_weight_and_that_before_one() {
        assert_eq!(effective(Some(0), Some(4)), 0);
        assert_eq!(effective(None, Some(4)), 4);
        assert_eq!(effective(None, Some(0)), 0);
        assert_eq!(effective(None, None), 1);
    }

    #[test]
    fn a_fault_keeps_the_last_good_weight_and_is_logged_once_per_change() {
        use Fault::{Malformed, Missing};
        let mut weight = HeaderWeight::default();
        let steps = [
            (None, None, false, Some(Missing), true),
            (None, None, false, Some(Missing), false),
            (Some("5"), Some(5), true, None, true),
            (Some("5"), Some(5), false, None, false),
            (Some("x"), Some(5), false, Some(Malformed), true),
            (Some("1001"), Some(5), false, Some(Malformed), false),
            (None, Some(5), false, Some(Missing), true),
            (Some("0"), Some(0), true, None, true),
            (Some("7"), Some(7), true, None, false),
            (None, Some(7), false, Some(Missing), true),
        ];
        for (i, (header, last_good, changed, fault, log)) in steps.into_iter().enumerate() {
            let report = weight.observe(header.map(str::as_bytes));
            assert_eq!(report, WeightReport { changed, fault, log }, "step {i}");
            assert_eq!(weight.last_good(), last_good, "step {i}");
        }
    }

    #[test]
    fn the_header_counts_only_from_the_checks_that_a_profile_allows() {
        use CheckProtocol::{Grpc, Http, Http2, Https, Ssl, Tcp};
        let counting = |profile| {
            [Http, Https, Http2, Tcp, Ssl, Grpc]
                .into_iter()
                .filter(|p| header_counts(profile, *p))
                .collect::<Vec<_>>()
        };
        assert_eq!(counting(Profile::GcpExternal), [Http]);
        assert_eq!(counting(Profile::Native), [Http, Https, Http2]);
        assert_eq!(counting(Profile::GcpInternal), []);
        assert_eq!(counting(Profile::Azure), []);
    }
}
