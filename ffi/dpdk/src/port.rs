//! One network device: attached, configured, started; stopped and closed when its last handle goes.

use std::ffi::CString;
use std::mem::MaybeUninit;
use std::sync::Arc;

use dpdk_sys::{rte_eth_conf, rte_eth_dev_info};

use crate::bond::BondMode;
use crate::detour::Detour;
use crate::device::{Device, NotPromiscuous, OpenInterface, frame_size};
use crate::error::code;
use crate::log::Mark;
use crate::{Eal, Error, Mempool, RxQueue, TxQueue};

/// How a port is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortConfig {
    /// Queue pairs, one for each worker.
    pub queues: u16,
    /// The largest IP packet, bytes.
    pub mtu: u16,
    /// Receive descriptors of each queue; the device's limits win.
    pub rx_descriptors: u16,
    /// Transmit descriptors of each queue; the device's limits win.
    pub tx_descriptors: u16,
    /// Whether to take frames to any address.
    pub promiscuous: bool,
}

impl Default for PortConfig {
    fn default() -> Self {
        Self {
            queues: 1,
            mtu: 1500,
            rx_descriptors: 1024,
            tx_descriptors: 1024,
            promiscuous: false,
        }
    }
}

/// A started port.
#[derive(Debug)]
pub struct Port {
    pub(crate) open: Arc<Open>,
    queues: Vec<(RxQueue, TxQueue)>,
}

/// Whether the cable is in, and how fast it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Whether frames can pass.
    pub up: bool,
    /// Mbit/s; 0 or `u32::MAX` where the device does not know.
    pub mbit_per_second: u32,
}

/// What the device counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortStats {
    /// Frames received.
    pub received: u64,
    /// Frames sent.
    pub sent: u64,
    /// Frames that the device lost because the worker did not take them in time.
    pub missed: u64,
    /// Frames received broken.
    pub receive_errors: u64,
    /// Frames that could not be sent.
    pub send_errors: u64,
    /// Frames lost because the pool was empty.
    pub no_buffer: u64,
}

/// What keeps the port running: the handle and each queue hold it.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) id: u16,
    pub(crate) device: String,
    /// The kernel's interface under it, if there is one.
    pub(crate) interface: Option<OpenInterface>,
    /// How a bond's members work together; `None`: it is no bond.
    pub(crate) mode: Option<BondMode>,
    /// The members of a bond; closed after it.
    pub(crate) members: Vec<Open>,
    /// Around a bond.
    pub(crate) detour: Detour,
    /// What is put back on the interface when the port is closed.
    pub(crate) _before: Option<NotPromiscuous>,
}

impl Drop for Open {
    fn drop(&mut self) {
        // SAFETY: no queue is left, so no thread is in a burst; a failure leaves nothing to undo.
        unsafe {
            dpdk_sys::rte_eth_dev_stop(self.id);
            dpdk_sys::rte_eth_dev_close(self.id);
        }
    }
}

impl Port {
    /// Attaches, configures and starts a device. Each device can be opened once in a process; a PCI
    /// device must be among [`EalConfig::devices`](crate::EalConfig::devices).
    ///
    /// # Errors
    /// A device that is not there, has too few queues, does not take the MTU; what DPDK says.
    pub fn open(
        eal: &Eal,
        device: &str,
        pool: &Mempool,
        config: &PortConfig,
    ) -> Result<Self, Error> {
        let device = Device::parse(device)?;
        device.check()?;
        let mtu_is_set = device.check_mtu(config.mtu)?;
        Self::set_up(attach(eal, &device, config)?, mtu_is_set, pool, config)
    }

    /// Configures and starts what is attached.
    pub(crate) fn set_up(
        open: Open,
        mtu_is_set: bool,
        pool: &Mempool,
        config: &PortConfig,
    ) -> Result<Self, Error> {
        let open = Arc::new(open);
        let info = open.info()?;
        open.configure(&info, config)?;
        if !mtu_is_set {
            open.set_mtu(&info, config.mtu)?;
        }
        open.set_up_queues(pool, config)?;
        open.start(config.promiscuous)?;
        let queues = (0..config.queues)
            .map(|q| (RxQueue::new(open.clone(), q), TxQueue::new(open.clone(), q)));
        Ok(Self { queues: queues.collect(), open })
    }

    /// Takes the queue pairs out, one for each worker. Empty when they were taken before.
    pub fn split(&mut self) -> Vec<(RxQueue, TxQueue)> {
        std::mem::take(&mut self.queues)
    }

    /// The device as it was configured.
    pub fn device(&self) -> &str {
        &self.open.device
    }

    /// DPDK's number for it.
    pub fn id(&self) -> u16 {
        self.open.id
    }

    /// Its Ethernet address.
    ///
    /// # Errors
    /// [`Error::Failed`].
    pub fn mac(&self) -> Result<[u8; 6], Error> {
        let mut mac = dpdk_sys::rte_ether_addr { addr_bytes: [0; 6] };
        // SAFETY: the port is open; `mac` is valid to write to.
        let rc = unsafe { dpdk_sys::rte_eth_macaddr_get(self.open.id, &raw mut mac) };
        self.open.check(rc, "read its Ethernet address")?;
        Ok(mac.addr_bytes)
    }

    /// The state of its link. Drivers on interfaces of the kernel take it for always up, so that
    /// the kernel is asked. A bond is up while a member carries traffic.
    ///
    /// # Errors
    /// [`Error::Failed`].
    pub fn link(&self) -> Result<Link, Error> {
        let link = self.open.dpdk_link()?;
        Ok(Link { up: self.open.carries(), ..link })
    }

    /// Whether the interface of the kernel that it was opened on has been removed, and another one
    /// has its name now: nothing arrives until the port is opened anew.
    pub fn is_replaced(&self) -> bool {
        let opened = |open: &Open| open.interface.as_ref().is_some_and(OpenInterface::is_replaced);
        opened(&self.open) || self.open.members.iter().any(opened)
    }

    /// The device's own counters.
    ///
    /// # Errors
    /// [`Error::Failed`].
    pub fn stats(&self) -> Result<PortStats, Error> {
        let mut stats = MaybeUninit::<dpdk_sys::rte_eth_stats>::zeroed();
        // SAFETY: the port is open; `stats` is valid to write to.
        let rc = unsafe { dpdk_sys::rte_eth_stats_get(self.open.id, stats.as_mut_ptr()) };
        self.open.check(rc, "read its counters")?;
        // SAFETY: plain integers, zeroed before.
        let stats = unsafe { stats.assume_init() };
        Ok(PortStats {
            received: stats.ipackets,
            sent: stats.opackets,
            missed: stats.imissed,
            receive_errors: stats.ierrors,
            send_errors: stats.oerrors,
            no_buffer: stats.rx_nombuf,
        })
    }
}

/// Finds the port of a device. A virtual one is made here and not when the EAL starts: the EAL goes
/// on without a virtual device that fails, and says nothing.
pub(crate) fn attach(_eal: &Eal, device: &Device, config: &PortConfig) -> Result<Open, Error> {
    let mark = Mark::now();
    let mut rc = 0;
    if let Device::Virtual { .. } = device {
        let string = c_string(&device.complete(config.queues, frame_size(config.mtu)));
        // SAFETY: the EAL runs; the string is copied.
        rc = unsafe { dpdk_sys::rte_dev_probe(string.as_ptr()) };
    }
    let (name, mut id) = (c_string(device.name()), 0);
    if rc == 0 {
        // SAFETY: the EAL runs; the name is a C string, `id` is valid to write to.
        rc = unsafe { dpdk_sys::rte_eth_dev_get_port_by_name(name.as_ptr(), &raw mut id) };
    }
    if rc == 0 {
        let interface = device.interface().map(OpenInterface::of);
        // Drivers only set it when the port is started.
        let before = device.interface().and_then(NotPromiscuous::is);
        let (device, members) = (device.text().into(), Vec::new());
        let detour = Detour::default();
        let mode = None;
        return Ok(Open { id, device, interface, mode, members, detour, _before: before });
    }
    let (reason, cure) = (code(rc), device.cure());
    Err(Error::Attach { device: device.text().into(), reason, cure, log: mark.since() })
}

impl Open {
    /// The state of its link as its driver sees it.
    pub(crate) fn dpdk_link(&self) -> Result<Link, Error> {
        let mut mbit_per_second = 0;
        // SAFETY: the port is open; the number is valid to write to.
        let rc = unsafe { dpdk_sys::shim_link(self.id, &raw mut mbit_per_second) };
        self.check(rc, "read its link state")?;
        Ok(Link { up: rc == 1, mbit_per_second })
    }

    fn info(&self) -> Result<rte_eth_dev_info, Error> {
        let mut info = MaybeUninit::<rte_eth_dev_info>::zeroed();
        // SAFETY: the port is attached; `info` is valid to write to.
        let rc = unsafe { dpdk_sys::rte_eth_dev_info_get(self.id, info.as_mut_ptr()) };
        self.check(rc, "describe it")?;
        // SAFETY: integers and pointers, all of which may be zero.
        Ok(unsafe { info.assume_init() })
    }

    fn configure(&self, info: &rte_eth_dev_info, config: &PortConfig) -> Result<(), Error> {
        let (workers, max) = (config.queues, info.max_rx_queues.min(info.max_tx_queues));
        if workers > max {
            let device = self.device.clone();
            let cure =
                Device::parse(&device).map(|d| d.more_queues(workers, max)).unwrap_or_default();
            return Err(Error::TooFewQueues { device, max, workers, cure });
        }
        let mut conf = device_conf(info, config);
        if self.mode.is_some() {
            conf.rxmode.mtu = self.mtu_of_members(info, config.mtu);
        }
        // SAFETY: the port is attached and stopped; the configuration is copied.
        let rc =
            unsafe { dpdk_sys::rte_eth_dev_configure(self.id, workers, workers, &raw const conf) };
        self.check(rc, &format!("configure {workers} queue pairs"))
    }

    /// A bond's, for its members. Drivers on interfaces of the kernel say that they take no large
    /// frames, and take what the interface takes.
    fn mtu_of_members(&self, info: &rte_eth_dev_info, mtu: u16) -> u32 {
        const LINK: u32 = 18;
        let of_kernel = self.members.iter().any(|member| member.interface.is_some());
        let most = if of_kernel { info.max_rx_pktlen.saturating_sub(LINK) } else { u32::MAX };
        u32::from(mtu).min(most)
    }

    /// Devices without an MTU of their own (captures, memory) take any.
    fn set_mtu(&self, info: &rte_eth_dev_info, mtu: u16) -> Result<(), Error> {
        // SAFETY: the port is configured and stopped.
        let rc = unsafe { dpdk_sys::rte_eth_dev_set_mtu(self.id, mtu) };
        if rc == 0 || rc == -libc::ENOTSUP {
            return Ok(());
        }
        let (min, max) = (info.min_mtu, info.max_mtu);
        Err(Error::Mtu { device: self.device.clone(), mtu, reason: code(rc), min, max })
    }

    fn set_up_queues(&self, pool: &Mempool, config: &PortConfig) -> Result<(), Error> {
        let (mut rx, mut tx) = (config.rx_descriptors, config.tx_descriptors);
        // SAFETY: the port is configured; both are valid to write to.
        let rc = unsafe {
            dpdk_sys::rte_eth_dev_adjust_nb_rx_tx_desc(self.id, &raw mut rx, &raw mut tx)
        };
        self.check(rc, "choose the number of descriptors")?;
        (0..config.queues).try_for_each(|queue| self.set_up_queue(queue, rx, tx, pool))
    }

    fn set_up_queue(&self, queue: u16, rx: u16, tx: u16, pool: &Mempool) -> Result<(), Error> {
        let default = std::ptr::null();
        // SAFETY: the port is configured with this queue and stopped; the pool is never freed; null
        // means the driver's defaults.
        let (rx_rc, tx_rc) = unsafe {
            let socket = dpdk_sys::rte_eth_dev_socket_id(self.id) as u32;
            (
                dpdk_sys::rte_eth_rx_queue_setup(self.id, queue, rx, socket, default, pool.raw()),
                dpdk_sys::rte_eth_tx_queue_setup(self.id, queue, tx, socket, std::ptr::null()),
            )
        };
        self.check(rx_rc, &format!("set up receive queue {queue} with {rx} descriptors"))?;
        self.check(tx_rc, &format!("set up transmit queue {queue} with {tx} descriptors"))
    }

    /// Multicast must come in: neighbour discovery, which the host does, needs it. Drivers without
    /// an all-multicast mode are made promiscuous; those without either take everything anyway.
    fn start(&self, promiscuous: bool) -> Result<(), Error> {
        // SAFETY: the port and all its queues are set up.
        let rc = unsafe { dpdk_sys::rte_eth_dev_start(self.id) };
        self.check(rc, "start it")?;
        // SAFETY: the port is open.
        unsafe {
            if promiscuous || dpdk_sys::rte_eth_allmulticast_enable(self.id) != 0 {
                dpdk_sys::rte_eth_promiscuous_enable(self.id);
            }
        }
        Ok(())
    }

    pub(crate) fn check(&self, rc: i32, action: &str) -> Result<(), Error> {
        if rc >= 0 {
            return Ok(());
        }
        let action = format!("open device {}: {action}", self.device);
        Err(Error::Failed { action, reason: code(rc), log: Mark::recent() })
    }
}

/// Spreads by addresses and ports where there are several queues and the device can.
fn device_conf(info: &rte_eth_dev_info, config: &PortConfig) -> rte_eth_conf {
    // SAFETY: integers and pointers, all of which may be zero: zero means the default.
    let mut conf: rte_eth_conf = unsafe { MaybeUninit::zeroed().assume_init() };
    // SAFETY: a constant of the shim, never written.
    let hash = unsafe { dpdk_sys::shim_rss_ip_ports } & info.flow_type_rss_offloads;
    if config.queues > 1 && hash != 0 {
        conf.rxmode.mq_mode = dpdk_sys::RTE_ETH_MQ_RX_RSS;
        conf.rx_adv_conf.rss_conf.rss_hf = hash;
    }
    conf
}

pub(crate) fn c_string(text: &str) -> CString {
    CString::new(text).unwrap_or_default()
}
