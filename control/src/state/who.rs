//! Which backend, for whoever looks at it from outside.

use std::net::IpAddr;
use std::sync::Arc;

/// Which backend of which service. The address is part of it: another one is another backend.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Who {
    /// The service's name.
    pub service: Arc<str>,
    /// `group/name`.
    pub backend: Arc<str>,
    /// Where it is.
    pub address: IpAddr,
}
