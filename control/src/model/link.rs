//! What ports are made of: devices that several ports share, and bonds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Config;

/// Several devices that are one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bond {
    /// Who sends and receives.
    pub mode: BondMode,
    /// PCI addresses or DPDK vdev strings, the preferred one first.
    pub members: Vec<String>,
}

/// `bond`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BondMode {
    /// IEEE 802.1AX: the peer says which members carry traffic.
    Lacp,
    /// One member at a time.
    #[default]
    ActiveBackup,
    /// Every member whose link is up, by addresses and ports.
    BalanceXor,
}

/// `announce_vips`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AnnounceVips {
    /// As long as the workers run.
    #[default]
    Always,
    /// The same, and as long as a backend is eligible.
    WhileEligible,
    /// The segment routes to the port's own address.
    Never,
}

/// One device and the ports that it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceUse<'c> {
    /// As configured.
    pub device: &'c str,
    /// What it is made of, if it is a bond.
    pub bond: Option<&'c Bond>,
    /// Places in [`Config::ports`].
    pub ports: Vec<usize>,
    /// The largest of its ports.
    pub mtu: u16,
}

impl<'c> DeviceUse<'c> {
    /// Every device that DPDK drives for it: the members, or itself.
    pub fn driven(&self) -> Vec<&'c str> {
        match self.bond {
            Some(bond) => bond.members.iter().map(String::as_str).collect(),
            None => vec![self.device],
        }
    }
}

impl Config {
    /// Every device once, in the order of its first port.
    pub fn devices(&self) -> Vec<DeviceUse<'_>> {
        let mut devices: Vec<DeviceUse<'_>> = Vec::new();
        for (place, port) in self.ports.iter().enumerate() {
            let known = devices.iter().position(|known| known.device == port.device);
            let known = known.unwrap_or_else(|| {
                let device = &port.device;
                devices.push(DeviceUse { device, bond: None, ports: Vec::new(), mtu: 0 });
                devices.len() - 1
            });
            let device = &mut devices[known];
            device.ports.push(place);
            device.mtu = device.mtu.max(port.mtu);
            device.bond = device.bond.or(port.bond.as_ref());
        }
        devices
    }
}
