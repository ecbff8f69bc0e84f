//! What a port's device string means, and what is checked before DPDK sees it: DPDK's own words
//! for a missing device are few.

use std::ffi::CString;
use std::net::{Ipv4Addr, UdpSocket};
use std::num::NonZeroU32;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;

use crate::Error;

/// A device as it is written in the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Device {
    /// A PCI address, in full (`0000:01:00.0`), and arguments of its driver.
    Pci {
        /// As configured.
        text: String,
        /// The address with its domain.
        address: String,
    },
    /// A virtual device: a driver's name with a number, and its arguments.
    Virtual {
        /// As configured.
        text: String,
        /// The name, `net_af_packet0`.
        name: String,
    },
}

impl Device {
    /// Reads a device string.
    ///
    /// # Errors
    /// [`Error::NotADevice`] if it is neither.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let head = text.split(',').next().unwrap_or_default();
        if let Some(address) = pci_address(head) {
            return Ok(Self::Pci { text: text.into(), address });
        }
        let name = head.starts_with("net_")
            && head.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        if !name || text.contains('\0') {
            return Err(Error::NotADevice { device: text.into() });
        }
        Ok(Self::Virtual { text: text.into(), name: head.into() })
    }

    /// The string that it was read from.
    pub fn text(&self) -> &str {
        match self {
            Self::Pci { text, .. } | Self::Virtual { text, .. } => text,
        }
    }

    /// The name that DPDK gives its port.
    pub fn name(&self) -> &str {
        match self {
            Self::Pci { address, .. } => address,
            Self::Virtual { name, .. } => name,
        }
    }

    /// Looks whether the system has it. A PCI device's string for DPDK's `-a`, else nothing.
    ///
    /// # Errors
    /// [`Error::NoPciDevice`], [`Error::NoInterface`], [`Error::NoInterfaceGiven`].
    pub fn check(&self) -> Result<Option<String>, Error> {
        match self {
            Self::Pci { text, address } if !sysfs(address).exists() => {
                Err(Error::NoPciDevice { device: text.clone(), address: address.clone() })
            }
            Self::Pci { text, .. } => Ok(Some(text.clone())),
            Self::Virtual { .. } => self.check_interface().map(|()| None),
        }
    }

    fn check_interface(&self) -> Result<(), Error> {
        if !self.has_interface() {
            return Ok(());
        }
        match self.argument("iface") {
            None => Err(Error::NoInterfaceGiven { device: self.text().into() }),
            Some(interface) if !interface_exists(interface) => {
                Err(Error::NoInterface { device: self.text().into(), interface: interface.into() })
            }
            Some(_) => Ok(()),
        }
    }

    /// The MTU of an existing interface is its owner's to set; it only has to be large enough. True
    /// if the device has such an interface and nothing is left to set.
    ///
    /// # Errors
    /// [`Error::InterfaceMtu`].
    pub(crate) fn check_mtu(&self, mtu: u16) -> Result<bool, Error> {
        let Some(interface) = self.interface() else { return Ok(false) };
        match interface_mtu(interface) {
            Some(has) if has < mtu.into() => Err(Error::InterfaceMtu {
                device: self.text().into(),
                interface: interface.into(),
                has,
                mtu,
            }),
            _ => Ok(true),
        }
    }

    /// The existing interface of the kernel that its driver works on, if it is of that kind.
    pub fn interface(&self) -> Option<&str> {
        self.argument("iface").filter(|_| self.has_interface())
    }

    /// Whether its driver works on an existing interface of the kernel, which `iface` names.
    fn has_interface(&self) -> bool {
        self.is_one_of(&["net_af_packet", "net_af_xdp"])
    }

    /// The string for DPDK, with what the driver needs for this many queue pairs and this frame
    /// size (bytes). What the operator wrote is never changed, only added to.
    pub fn complete(&self, queues: u16, frame: u32) -> String {
        let mut out = self.text().to_owned();
        let mut add = |key: &str, value: String| {
            if self.argument(key).is_none() {
                out.push_str(&format!(",{key}={value}"));
            }
        };
        if self.is_one_of(&["net_af_packet"]) {
            add("qpairs", queues.to_string());
            af_packet_ring(frame).into_iter().for_each(|(key, value)| add(key, value.to_string()));
        } else if self.is_one_of(&["net_af_xdp"]) {
            add("start_queue", "0".into());
            add("queue_count", queues.to_string());
        }
        out
    }

    /// What to do when DPDK cannot attach it, with a leading `"; "`.
    pub(crate) fn cure(&self) -> String {
        let Self::Pci { address, .. } = self else {
            return "; is its driver's package (librte-net-…) installed, and does the process have \
                    CAP_NET_RAW and CAP_NET_ADMIN?"
                .into();
        };
        let driver = std::fs::read_link(sysfs(address).join("driver")).ok();
        let driver = driver.as_ref().and_then(|path| path.file_name()?.to_str()).unwrap_or("none");
        format!(
            "; its kernel driver is {driver}; for most NICs: dpdk-devbind.py -b vfio-pci {address}"
        )
    }

    /// What to do where it has fewer queue pairs (`max`) than there are workers.
    pub(crate) fn more_queues(&self, workers: u16, max: u16) -> String {
        let given = ["qpairs", "queue_count"].into_iter().find(|key| self.argument(key).is_some());
        match given.filter(|_| self.has_interface()) {
            Some(key) => format!("write {key}={workers} in its string, or leave {key} out"),
            None => format!("use at most {max} workers, or a device with more queues"),
        }
    }

    fn is_one_of(&self, drivers: &[&str]) -> bool {
        let Self::Virtual { name, .. } = self else { return false };
        drivers.contains(&name.trim_end_matches(|c: char| c.is_ascii_digit()))
    }

    fn argument(&self, key: &str) -> Option<&str> {
        let pairs = self.text().split(',').skip(1).filter_map(|pair| pair.split_once('='));
        pairs.into_iter().find(|(k, _)| *k == key).map(|(_, value)| value)
    }
}

/// The room (bytes) that a pool's buffers need for a device's frames at this MTU. A driver with
/// slots of its own refuses buffers that are smaller than those.
///
/// # Errors
/// [`Error::NotADevice`].
pub fn room(device: &str, mtu: u16) -> Result<u16, Error> {
    let frame = frame_size(mtu);
    let slot = if Device::parse(device)?.is_one_of(&["net_af_packet"]) {
        af_packet_ring(frame).first().map(|(_, slot)| *slot)
    } else {
        None
    };
    let least = crate::PoolConfig::default().room;
    Ok(u16::try_from(slot.unwrap_or(frame))
        .unwrap_or(u16::MAX - crate::Mempool::HEADROOM)
        .max(least))
}

/// The longest frame that a port of this MTU may see, bytes: Ethernet header, two VLAN tags, CRC.
pub(crate) fn frame_size(mtu: u16) -> u32 {
    u32::from(mtu) + 14 + 8 + 4
}

/// net_af_packet cuts frames at 2048 bytes, its own header included; larger ones need larger slots.
fn af_packet_ring(frame: u32) -> Vec<(&'static str, u32)> {
    const HEADER: u32 = 128;
    let slot = (frame + HEADER).next_power_of_two();
    if slot <= 2048 {
        return Vec::new();
    }
    vec![("framesz", slot), ("blocksz", slot.max(65536)), ("framecnt", 512)]
}

/// The full form of a PCI address; the domain may be left out.
fn pci_address(text: &str) -> Option<String> {
    let (rest, function) = text.split_once('.')?;
    let parts: Vec<&str> = rest.split(':').collect();
    let (domain, bus, device) = match parts[..] {
        [bus, device] => ("0000", bus, device),
        [domain, bus, device] => (domain, bus, device),
        _ => return None,
    };
    let hex =
        |s: &str, digits: usize| s.len() == digits && s.bytes().all(|b| b.is_ascii_hexdigit());
    let valid = hex(domain, 4) && hex(bus, 2) && hex(device, 2) && hex(function, 1);
    valid.then(|| format!("{domain}:{bus}:{device}.{function}").to_ascii_lowercase())
}

fn sysfs(address: &str) -> PathBuf {
    PathBuf::from("/sys/bus/pci/devices").join(address)
}

/// Asks the kernel, not /sys, which may show another network namespace.
fn interface_exists(name: &str) -> bool {
    let Ok(name) = CString::new(name) else { return false };
    // SAFETY: a valid C string.
    unsafe { libc::if_nametoindex(name.as_ptr()) != 0 }
}

/// Asks the kernel, for the same reason.
pub(crate) fn interface_mtu(name: &str) -> Option<u32> {
    let answer = ask(name, libc::SIOCGIFMTU)?;
    // SAFETY: SIOCGIFMTU has written this integer.
    Some(unsafe { answer.ifr_ifru.ifru_mtu } as u32)
}

/// Gives an interface of the kernel an MTU; `None` if it refuses.
pub(crate) fn set_interface_mtu(name: &str, mtu: u32) -> Option<()> {
    let mut about = named(name);
    about.ifr_ifru.ifru_mtu = mtu as libc::c_int;
    request(&UnixDatagram::unbound().ok()?, &mut about, libc::SIOCSIFMTU)
}

/// Whether an interface of the kernel is there, set up, and has a carrier.
fn interface_is_up(name: &str) -> bool {
    let Some((_, flags)) = flags_of(name) else { return false };
    flags & libc::IFF_UP != 0 && flags & libc::IFF_RUNNING != 0
}

/// An interface of the kernel that a driver has opened: that one, and not what has its name later.
#[derive(Debug)]
pub(crate) struct OpenInterface {
    pub(crate) name: String,
    index: Option<NonZeroU32>,
}

impl OpenInterface {
    pub(crate) fn of(name: &str) -> Self {
        Self { name: name.into(), index: index_of(name) }
    }

    pub(crate) fn is_up(&self) -> bool {
        !self.is_replaced() && interface_is_up(&self.name)
    }

    /// Whether another one has its name: no frame of that comes to the driver.
    pub(crate) fn is_replaced(&self) -> bool {
        index_of(&self.name).is_some_and(|index| Some(index) != self.index)
    }
}

fn index_of(interface: &str) -> Option<NonZeroU32> {
    let name = CString::new(interface).ok()?;
    // SAFETY: `name` ends with a NUL and lives until the call returns.
    NonZeroU32::new(unsafe { libc::if_nametoindex(name.as_ptr()) })
}

/// Whether an interface of the kernel has an address of its own: any of IPv4, one of IPv6 that is
/// not only for the link.
pub fn has_address(interface: &str) -> bool {
    const LINK_LOCAL: &str = "20";
    let list = std::fs::read_to_string("/proc/thread-self/net/if_inet6").unwrap_or_default();
    let six = |line: &str| {
        let mut fields = line.split_whitespace().skip(3);
        let (scope, _, name) = (fields.next(), fields.next(), fields.next());
        name == Some(interface) && scope != Some(LINK_LOCAL)
    };
    // Only a socket of IPv4 answers this one.
    let four = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok();
    let four = four.and_then(|socket| ask_by(&socket, interface, libc::SIOCGIFADDR));
    four.is_some() || list.lines().any(six)
}

/// The flags of an interface; `None`: there is none.
fn flags_of(name: &str) -> Option<(libc::ifreq, i32)> {
    let answer = ask(name, libc::SIOCGIFFLAGS)?;
    // SAFETY: SIOCGIFFLAGS has written these flags.
    let flags = unsafe { answer.ifr_ifru.ifru_flags };
    Some((answer, flags.into()))
}

/// An interface that does not take frames for others. Drivers that make it (af_packet) leave it so when
/// they are closed; dropping this after them puts it back.
#[derive(Debug)]
pub(crate) struct NotPromiscuous(String);

impl NotPromiscuous {
    /// Looks; `None`: it takes them already, or there is no such interface.
    pub(crate) fn is(interface: &str) -> Option<Self> {
        let (_, flags) = flags_of(interface)?;
        (flags & libc::IFF_PROMISC == 0).then(|| Self(interface.to_owned()))
    }
}

impl Drop for NotPromiscuous {
    fn drop(&mut self) {
        let Some((mut request, flags)) = flags_of(&self.0) else { return };
        if flags & libc::IFF_PROMISC == 0 {
            return;
        }
        request.ifr_ifru.ifru_flags = (flags & !libc::IFF_PROMISC) as libc::c_short;
        let Ok(socket) = UnixDatagram::unbound() else { return };
        // SAFETY: the socket is open; the request reads the name, which ends in a zero, and the flags.
        // Refused, the interface stays as the driver has left it.
        unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw mut request) };
    }
}

/// One of the kernel's requests about an interface (netdevice(7)); `None` if it refuses.
fn ask(name: &str, request: libc::Ioctl) -> Option<libc::ifreq> {
    ask_by(&UnixDatagram::unbound().ok()?, name, request)
}

fn ask_by(socket: &impl AsRawFd, name: &str, what: libc::Ioctl) -> Option<libc::ifreq> {
    let mut about = named(name);
    request(socket, &mut about, what)?;
    Some(about)
}

/// What a request about an interface begins with.
fn named(name: &str) -> libc::ifreq {
    // SAFETY: integers and bytes, all of which may be zero.
    let mut about: libc::ifreq = unsafe { std::mem::zeroed() };
    let place = about.ifr_name.iter_mut().zip(name.bytes()).take(libc::IFNAMSIZ - 1);
    place.for_each(|(to, byte)| *to = byte as libc::c_char);
    about
}

fn request(socket: &impl AsRawFd, about: &mut libc::ifreq, what: libc::Ioctl) -> Option<()> {
    // SAFETY: the socket is open; the requests that are made here read the name, which ends in a
    // zero, and read and write within the structure.
    let rc = unsafe { libc::ioctl(socket.as_raw_fd(), what, std::ptr::from_mut(about)) };
    (rc == 0).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_pci_addresses_or_virtual_devices() {
        let name = |text: &str| Device::parse(text).map(|d| d.name().to_owned());
        assert_eq!(name("01:00.1").unwrap(), "0000:01:00.1");
        assert_eq!(name("0000:AF:00.0,rx_burst=1").unwrap(), "0000:af:00.0");
        assert_eq!(name("net_null0,no-rx=1").unwrap(), "net_null0");
        for wrong in ["", "eth0", "01:00", "0000:1:00.0", "1:2:3:4.0", "net_null 0"] {
            assert!(matches!(name(wrong), Err(Error::NotADevice { .. })), "{wrong}");
        }
    }

    #[test]
    fn a_missing_interface_is_named() {
        let error = Device::parse("net_af_packet0,iface=nope0").unwrap().check().unwrap_err();
        assert!(error.to_string().contains("there is no interface nope0"), "{error}");
        assert_eq!(Device::parse("net_af_packet0,iface=lo").unwrap().check(), Ok(None));
    }

    #[test]
    fn a_wrong_pci_address_is_named_in_full() {
        let error = Device::parse("fe:1f.7").unwrap().check().unwrap_err();
        assert!(error.to_string().contains("no PCI device at 0000:fe:1f.7"), "{error}");
    }

    #[test]
    fn an_interface_with_an_address_is_told_from_one_without() {
        assert!(has_address("lo"));
        assert!(!has_address("nope0"));
    }

    #[test]
    fn buffers_are_large_enough_for_the_drivers_slots() {
        assert_eq!(room("net_af_packet0,iface=a", 1500), Ok(2048));
        assert_eq!(room("net_af_packet0,iface=a", 9000), Ok(16_384));
        assert_eq!(room("01:00.0", 9000), Ok(9026));
        assert!(room("eth0", 1500).is_err());
    }

    #[test]
    fn too_few_queues_are_cured_where_they_were_asked_for() {
        let cure = |text| Device::parse(text).unwrap().more_queues(2, 1);
        assert_eq!(
            cure("net_af_packet0,iface=a,qpairs=1"),
            "write qpairs=2 in its string, or leave qpairs out"
        );
        assert!(cure("net_af_xdp0,iface=a,queue_count=1").starts_with("write queue_count=2 "));
        assert_eq!(cure("01:00.0"), "use at most 1 workers, or a device with more queues");
    }

    #[test]
    fn drivers_get_what_they_need_unless_the_operator_said_it() {
        let complete = |text, queues, frame| Device::parse(text).unwrap().complete(queues, frame);
        assert_eq!(complete("net_null0", 4, 1518), "net_null0");
        assert_eq!(complete("net_af_packet0,iface=a", 2, 1518), "net_af_packet0,iface=a,qpairs=2");
        assert_eq!(
            complete("net_af_packet0,iface=a,qpairs=1", 2, 1518),
            "net_af_packet0,iface=a,qpairs=1"
        );
        assert_eq!(
            complete("net_af_packet0,iface=a", 1, 9018),
            "net_af_packet0,iface=a,qpairs=1,framesz=16384,blocksz=65536,framecnt=512"
        );
        assert_eq!(
            complete("net_af_xdp0,iface=a", 1, 1518),
            "net_af_xdp0,iface=a,start_queue=0,queue_count=1"
        );
    }
}
