//! What one probe found out.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

/// One probe's end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// What was answered, in words ("HTTP 200"), or why it counts as a failure.
    pub answer: Result<String, Reason>,
    /// A complete HTTP response, whatever its status; `None`: there was none (W-1).
    pub response: Option<Response>,
}

/// What of a complete HTTP response matters beside its status.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Response {
    /// The value of the weight header, if it has one; of several that differ, all of them joined
    /// by commas, which is no weight.
    pub weight: Option<Vec<u8>>,
}

impl Report {
    /// A failure without a response.
    pub fn failed(reason: Reason) -> Self {
        Self { answer: Err(reason), response: None }
    }
}

/// How far a probe had got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// TCP.
    Connect,
    /// TLS.
    Tls,
    /// HTTP/2's preface and settings.
    Http2,
    /// Sending, and waiting for the response's head or first bytes.
    Response,
    /// Reading a response's body.
    Body,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connect => "TCP connect",
            Self::Tls => "TLS handshake",
            Self::Http2 => "HTTP/2 handshake",
            Self::Response => "the wait for the response",
            Self::Body => "the response's body",
        })
    }
}

/// Why a probe failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// The time was up.
    #[error("timeout after {} in {step}", seconds(*after))]
    Timeout {
        /// The check's timeout.
        after: Duration,
        /// Where it was.
        step: Step,
    },
    /// Nobody listens.
    #[error("connection refused")]
    Refused,
    /// No connection for another reason, in the system's words.
    #[error("cannot connect: {0}")]
    Connect(String),
    /// The probe could not be sent at all: this appliance's fault.
    #[error("cannot probe: {0}")]
    Local(String),
    /// The TLS handshake failed.
    #[error("TLS: {0}")]
    Tls(String),
    /// The server's certificate is not one that `tls_ca` vouches for.
    #[error("certificate: {0}")]
    Certificate(String),
    /// TLS without HTTP/2.
    #[error("the server did not choose HTTP/2 (ALPN \"h2\")")]
    NoHttp2,
    /// The connection ended before there was a whole response.
    #[error("the connection was closed in {0}")]
    Closed(Step),
    /// What came is not the protocol.
    #[error("not {protocol}: {what}")]
    Malformed {
        /// What it should have been.
        protocol: &'static str,
        /// What is wrong with it.
        what: String,
    },
    /// A status that is not good.
    #[error("HTTP {0}")]
    Status(u16),
    /// The bytes that came are others than expected.
    #[error("the answer does not begin with what is expected, but with {0:?}")]
    Unexpected(String),
    /// The gRPC health service says so.
    #[error("gRPC {0}")]
    Grpc(String),
    /// One of several VIPs.
    #[error("VIP {vip}: {reason}")]
    Vip {
        /// Which.
        vip: IpAddr,
        /// Why.
        reason: Box<Reason>,
    },
}

impl Reason {
    /// Whether it is this appliance's fault, so that it says nothing of the backend.
    pub fn is_ours(&self) -> bool {
        match self {
            Self::Local(_) => true,
            Self::Vip { reason, .. } => reason.is_ours(),
            _ => false,
        }
    }
}

/// `5s`, `1.5s`, `200ms`
fn seconds(span: Duration) -> String {
    match span.as_millis() {
        ms if ms < 1000 => format!("{ms}ms"),
        _ => format!("{}s", span.as_secs_f64()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_read_as_an_operator_says_them() {
        let timeout = |ms, step| Reason::Timeout { after: Duration::from_millis(ms), step };
        let vip = "203.0.113.10".parse().expect("an address");
        for (reason, text) in [
            (timeout(5000, Step::Tls), "timeout after 5s in TLS handshake"),
            (timeout(1500, Step::Connect), "timeout after 1.5s in TCP connect"),
            (timeout(200, Step::Response), "timeout after 200ms in the wait for the response"),
            (timeout(200, Step::Body), "timeout after 200ms in the response's body"),
            (Reason::Status(503), "HTTP 503"),
            (Reason::Refused, "connection refused"),
            (
                Reason::Vip { vip, reason: Box::new(Reason::Refused) },
                "VIP 203.0.113.10: connection refused",
            ),
        ] {
            assert_eq!(reason.to_string(), text);
        }
    }
}
