//! Each port's host interface, and the queues between it and the workers.

use control::host::{Frames, HostConfig, HostError, HostInterface};
use control::model::Port;
use dataplane::io::host::{HostSide, WorkerSide, queues};
use tables::Mac;

/// Frames that may wait in each direction; what is more is dropped and counted (D-11).
const FRAMES: usize = 512;

/// An Ethernet header and a VLAN tag.
const LINK_HEADER: usize = 18;

/// Starts the host interface of a port, if it has one.
pub(crate) fn start(
    port: &Port,
    mac: Mac,
) -> Result<Option<(WorkerSide, HostInterface)>, HostError> {
    if port.host_interface.is_empty() {
        return Ok(None);
    }
    let (workers, host) = queues(FRAMES, usize::from(port.mtu) + LINK_HEADER);
    let config = HostConfig {
        name: port.host_interface.clone(),
        mac: mac.0,
        mtu: port.mtu,
        addresses: port.addresses.clone(),
    };
    Ok(Some((workers, HostInterface::start(&config, Queues(host))?)))
}

struct Queues(HostSide);

impl Frames for Queues {
    fn next(&mut self, deliver: &mut dyn FnMut(&[u8])) -> bool {
        self.0.next(deliver).is_some()
    }

    fn send(&mut self, fill: &mut dyn FnMut(&mut [u8]) -> Option<usize>) -> bool {
        self.0.send(fill)
    }
}
