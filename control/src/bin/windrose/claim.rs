//! One process for a device: two that drive one interface would each forward every packet.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use dpdk::device::Device;

use crate::failure::Failure;

/// Says to other processes of this network namespace that a device is ours, until it is dropped
/// or the process ends, however it ends: the kernel gives an abstract socket's name back by itself.
#[derive(Debug)]
pub(crate) struct Claim {
    _socket: UnixDatagram,
}

impl Claim {
    /// Claims a device, or says who cannot have it.
    pub(crate) fn of(device: &str) -> Result<Self, Failure> {
        let name = format!("windrose {}", driven(&Device::parse(device)?));
        let taken = |source| Failure::Taken { device: device.to_owned(), source };
        let address = SocketAddr::from_abstract_name(name).map_err(taken)?;
        Ok(Self { _socket: UnixDatagram::bind_addr(&address).map_err(taken)? })
    }
}

/// What two device strings have in common that drive the same thing: the kernel's interface, if
/// there is one, else DPDK's name for it.
fn driven(device: &Device) -> &str {
    device.interface().unwrap_or(device.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_claimed_once_whatever_its_options_say() {
        let first = Claim::of("net_af_packet0,iface=claimtest0,qpairs=1").expect("free");
        let second = Claim::of("net_af_xdp3,iface=claimtest0").expect_err("taken");
        assert!(second.to_string().contains("net_af_xdp3,iface=claimtest0"), "{second}");
        drop(first);
        Claim::of("net_af_xdp3,iface=claimtest0").expect("free again");
    }

    #[test]
    fn without_an_interface_the_device_is_claimed() {
        for (device, name) in [("0000:03:00.0", "0000:03:00.0"), ("net_null0,size=64", "net_null0")]
        {
            assert_eq!(driven(&Device::parse(device).expect("a device")), name);
        }
    }
}
