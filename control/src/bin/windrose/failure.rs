//! Why the appliance does not start.

use control::host::HostError;
use control::reload::Kept;

/// Why the appliance does not start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// Signals cannot be taken over.
    #[error("cannot handle signals: {0}")]
    Signals(std::io::Error),
    /// The threads of the control side's I/O cannot be started.
    #[error("cannot start the background threads: {0}")]
    Background(std::io::Error),
    /// Another process has the device.
    #[error(
        "device {device}: {source}: another windrose of this network namespace drives it; stop that one first"
    )]
    Taken {
        /// As configured.
        device: String,
        /// What the kernel says of the name that stands for it.
        source: std::io::Error,
    },
    /// DPDK refused.
    #[error(transparent)]
    Dpdk(#[from] dpdk::Error),
    /// The connection table cannot be mapped.
    #[error("cannot map the connection table: {0}; lower conntrack_entries or add memory")]
    Connections(std::io::Error),
    /// A host interface cannot be made.
    #[error(transparent)]
    Host(#[from] HostError),
    /// There is no control socket.
    #[error(transparent)]
    Socket(#[from] control::admin::socket::NoSocket),
    /// The control socket cannot be served.
    #[error("cannot serve the control socket: {0}")]
    Serving(std::io::Error),
    /// No Tables can be built.
    #[error(transparent)]
    Control(#[from] Kept),
}

impl Failure {
    /// Whether another process has the device.
    pub(crate) fn is_taken(&self) -> bool {
        matches!(self, Self::Taken { source, .. } if source.kind() == std::io::ErrorKind::AddrInUse)
    }
}
