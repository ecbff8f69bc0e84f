//! One distinct check: what is asked, of whom, how often.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::model::{Authorities, CheckProtocol, Encapsulation};

/// A check. Two services that want the same one share its answers, so everything that makes a
/// difference on the wire or in time is in here, and nothing else: thresholds are each service's own.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Question {
    /// Who is asked.
    pub at: At,
    /// The port.
    pub port: u16,
    /// What is said.
    pub ask: Ask,
    /// From one probe to the next.
    pub interval: Duration,
    /// Over the whole probe; at most the interval.
    pub timeout: Duration,
}

/// Who is asked (W-8).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum At {
    /// The backend's own address, by the host's routes.
    Address(IpAddr),
    /// The VIPs, through the encapsulation to this backend.
    Vips {
        /// All of them have to answer.
        vips: Box<[IpAddr]>,
        /// The backend.
        backend: IpAddr,
        /// What carries the packets there.
        tunnel: Tunnel,
    },
}

/// An encapsulation, as far as two services' may be the same on the wire.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tunnel {
    /// Its settings.
    pub encapsulation: Encapsulation,
    /// The service, where its name decides the GRE key.
    pub service: Option<Arc<str>>,
}

/// What is said.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ask {
    /// In which protocol.
    pub protocol: CheckProtocol,
    /// HTTP2 and GRPC: whether inside TLS.
    pub tls: bool,
    /// Inside TLS: whom the certificate has to be vouched for by; `None`: any will do.
    pub tls_ca: Option<Arc<Authorities>>,
    /// HTTP kinds: the path.
    pub path: String,
    /// The host header, `:authority` and TLS server name; empty: the address.
    pub host: String,
    /// TCP and SSL: what is sent.
    pub send: String,
    /// TCP and SSL: what the answer has to begin with.
    pub expect: String,
    /// GRPC: the service that is asked about; empty: the server as a whole.
    pub grpc_service: String,
    /// HTTP kinds: only 200 is good; else any 2xx.
    pub only_200: bool,
}

impl Question {
    /// The addresses that are connected to, one connection each.
    pub fn addresses(&self) -> &[IpAddr] {
        match &self.at {
            At::Address(address) => std::slice::from_ref(address),
            At::Vips { vips, .. } => vips,
        }
    }
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let addresses: Vec<_> = self.addresses().iter().map(IpAddr::to_string).collect();
        write!(f, "{:?} port {} of {}", self.ask.protocol, self.port, addresses.join(", "))?;
        match &self.at {
            At::Address(_) => Ok(()),
            At::Vips { backend, .. } => write!(f, " through {backend}"),
        }
    }
}
