//! Several devices that are one: DPDK's net_bonding.
//!
//! What it does not do by itself, found by trial:
//!
//! - It sends and receives LACP only inside the bursts of its user, and gives the other end up when
//!   it is not polled for 100 ms: see [`TxQueue::poll`](crate::TxQueue::poll).
//! - It gives members their MTU when it starts, and refuses to before.
//! - It learns of a cut link from its members' drivers. Those on interfaces of the kernel say that
//!   a link is always up, so that [`Port::tend`] has to look, and to lead traffic around a dead one.
//! - Of LACP's two timeouts it knows the long one alone (a frame every 30 s, gone after 90 s): the
//!   shim has it ask for the short one (1 s and 3 s), which every other end has to heed.

use crate::detour::Detour;
use crate::device::{Device, interface_mtu, set_interface_mtu};
use crate::error::code;
use crate::log::Mark;
use crate::port::{Open, PortConfig, attach, c_string};
use crate::{Eal, Error, Mempool, Port};

/// Which members carry traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BondMode {
    /// Those that the other end takes, by IEEE 802.1AX.
    Lacp,
    /// One at a time.
    ActiveBackup,
    /// All whose link is up, by addresses and ports.
    BalanceXor,
}

/// How a bond is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BondState {
    /// Which members carry traffic.
    pub mode: BondMode,
    /// Its members, in the order in which they were given.
    pub members: Vec<MemberState>,
}

/// How one member is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberState {
    /// As configured.
    pub device: String,
    /// Whether its link is up.
    pub up: bool,
    /// Whether it carries traffic.
    pub active: bool,
    /// The Ethernet address of the other end's system, if it speaks LACP.
    pub partner: Option<[u8; 6]>,
}

impl Port {
    /// Opens several devices as one, which is called `name` (letters, digits, `-` and `_`, up to
    /// 32). It has the first member's Ethernet address.
    ///
    /// # Errors
    /// As [`Port::open`], of any member; what DPDK says of the bond.
    pub fn open_bond(
        eal: &Eal,
        name: &str,
        mode: BondMode,
        members: &[String],
        pool: &Mempool,
        config: &PortConfig,
    ) -> Result<Self, Error> {
        let members = members.iter().map(|member| take_in(eal, member, config));
        let bond = create(name, mode, members.collect::<Result<_, _>>()?)?;
        let interfaces = bond
            .members
            .iter()
            .filter_map(|member| member.interface.as_ref().map(|own| own.name.clone()));
        let before: Vec<_> = interfaces.map(|name| (interface_mtu(&name), name)).collect();
        // Members are configured when the bond starts, and get the bond's MTU then: before that
        // DPDK refuses to set any.
        let port = Self::set_up(bond, true, pool, config)?;
        // An interface of the kernel is to keep its own.
        for (mtu, name) in before {
            if let Some(mtu) = mtu.filter(|mtu| interface_mtu(&name) != Some(*mtu)) {
                let _ = set_interface_mtu(&name, mtu);
            }
        }
        if mode == BondMode::Lacp {
            port.open.ask_for_short_timeout(config.queues)?;
        }
        Ok(port)
    }

    /// How the bond is; `None`: it is none.
    pub fn bond(&self) -> Option<BondState> {
        let mode = self.open.mode?;
        let active = self.open.active_members(mode);
        let member = |member: &Open| MemberState {
            device: member.device.clone(),
            up: member.is_up(),
            active: active.contains(&member.id),
            partner: self.open.partner(mode, member),
        };
        Some(BondState { mode, members: self.open.members.iter().map(member).collect() })
    }

    /// Leads traffic around members whose link is down and whose driver does not notice it. To be
    /// called every now and then.
    pub fn tend(&self) {
        match self.open.mode {
            None => {}
            Some(BondMode::ActiveBackup) => self.open.move_off_a_dead_member(),
            Some(mode) => self.open.lead_around(mode),
        }
    }
}

impl Open {
    fn move_off_a_dead_member(&self) {
        let active = self.preferred();
        let noticed = |m: &Self| m.id == active && (m.interface.is_none() || m.is_up());
        if self.members.iter().any(noticed) {
            return;
        }
        if let Some(next) = self.members.iter().find(|m| m.id != active && m.is_up()) {
            // SAFETY: both ports are open; DPDK lets the active member change under running bursts.
            unsafe { dpdk_sys::shim_bond_prefer(self.id, next.id) };
        }
    }

    /// While DPDK would give a dead member its share, the others that carry traffic have all of it.
    fn lead_around(&self, mode: BondMode) {
        let carry = self.carry_by_dpdk(mode);
        let carries = |member: &&Self| carry.contains(&member.id);
        let (up, dead): (Vec<_>, Vec<_>) =
            self.members.iter().filter(carries).partition(|member| member.is_up());
        let around = if dead.is_empty() { Vec::new() } else { up.iter().map(|m| m.id).collect() };
        self.detour.set(&around);
    }
}

/// Attaches a member.
fn take_in(eal: &Eal, member: &str, config: &PortConfig) -> Result<Open, Error> {
    let device = Device::parse(member)?;
    device.check()?;
    device.check_mtu(config.mtu)?;
    attach(eal, &device, config)
}

fn create(name: &str, mode: BondMode, members: Vec<Open>) -> Result<Open, Error> {
    let mark = Mark::now();
    let full = c_string(&format!("net_bonding_{name}"));
    // SAFETY: the EAL runs, since the members are attached; the name is copied.
    let id = unsafe { dpdk_sys::shim_bond_create(full.as_ptr(), mode.raw()) };
    let Ok(id) = u16::try_from(id) else {
        return Err(failed(format!("make the bond {name}"), id, &mark));
    };
    let (device, mode) = (name.to_owned(), Some(mode));
    let (interface, detour) = (None, Detour::default());
    let bond = Open { id, device, interface, mode, members, detour, _before: None };
    for member in &bond.members {
        // SAFETY: both ports are attached and neither is started.
        let rc = unsafe { dpdk_sys::shim_bond_add(id, member.id) };
        if rc != 0 {
            return Err(failed(format!("make {} a member of {name}", member.device), rc, &mark));
        }
    }
    if bond.mode == Some(BondMode::Lacp) {
        // SAFETY: the port is a bond of this mode, and is not started.
        let rc = unsafe { dpdk_sys::shim_bond_lacp_fast(id) };
        bond.check(rc, "set LACP's short timeout")?;
    }
    Ok(bond)
}

fn failed(action: String, rc: i32, mark: &Mark) -> Error {
    Error::Failed { action, reason: code(rc), log: mark.since() }
}

impl BondMode {
    fn raw(self) -> u8 {
        // SAFETY: constants of the shim, never written.
        unsafe {
            match self {
                Self::Lacp => dpdk_sys::shim_bond_lacp,
                Self::ActiveBackup => dpdk_sys::shim_bond_active_backup,
                Self::BalanceXor => dpdk_sys::shim_bond_balance,
            }
        }
    }
}

impl Open {
    /// Whether frames can pass.
    pub(crate) fn carries(&self) -> bool {
        self.mode.map_or_else(|| self.is_up(), |mode| !self.active_members(mode).is_empty())
    }

    /// Whether the link of a device that is no bond is up.
    pub(crate) fn is_up(&self) -> bool {
        match &self.interface {
            Some(interface) => interface.is_up(),
            None => self.dpdk_link().is_ok_and(|link| link.up),
        }
    }

    fn preferred(&self) -> u16 {
        // SAFETY: the port is an open bond.
        let id = unsafe { dpdk_sys::shim_bond_preferred(self.id) };
        u16::try_from(id).unwrap_or(u16::MAX)
    }

    /// Those that carry traffic.
    fn active_members(&self, mode: BondMode) -> Vec<u16> {
        let carry = self.carry_by_dpdk(mode);
        let up = self.members.iter().filter(|member| carry.contains(&member.id) && member.is_up());
        up.map(|member| member.id).collect()
    }

    fn carry_by_dpdk(&self, mode: BondMode) -> Vec<u16> {
        match mode {
            BondMode::ActiveBackup => vec![self.preferred()],
            BondMode::BalanceXor => self.up_by_their_drivers(),
            BondMode::Lacp => {
                let members = self.members.iter();
                let carries = |m: &&Self| self.lacp(m).is_some_and(|s| s.distributing != 0);
                members.filter(carries).map(|member| member.id).collect()
            }
        }
    }

    fn up_by_their_drivers(&self) -> Vec<u16> {
        let mut active = vec![0; self.members.len()];
        // SAFETY: the port is an open bond; there is room for as many as it has.
        let count = unsafe {
            dpdk_sys::shim_bond_active(self.id, active.as_mut_ptr(), active.len() as u16)
        };
        active.truncate(usize::try_from(count).unwrap_or(0));
        active
    }

    /// The bond is started: its members have their queues.
    fn ask_for_short_timeout(&self, queues: u16) -> Result<(), Error> {
        let asks = self.members.iter().flat_map(|m| (0..queues).map(move |queue| (m, queue)));
        for (member, queue) in asks {
            // SAFETY: the member is started and has this queue; the callback knows no state.
            let rc = unsafe { dpdk_sys::shim_bond_lacp_ask(member.id, queue) };
            member.check(rc, "ask for LACP's short timeout")?;
        }
        Ok(())
    }

    fn lacp(&self, member: &Self) -> Option<dpdk_sys::shim_lacp> {
        // SAFETY: integers and bytes, all of which may be zero.
        let mut state: dpdk_sys::shim_lacp = unsafe { std::mem::zeroed() };
        // SAFETY: the port is an open bond; the state is valid to write to.
        let rc = unsafe { dpdk_sys::shim_bond_lacp_state(self.id, member.id, &raw mut state) };
        (rc == 0).then_some(state)
    }

    fn partner(&self, mode: BondMode, member: &Self) -> Option<[u8; 6]> {
        let state = (mode == BondMode::Lacp).then(|| self.lacp(member))??;
        (state.partner != [0; 6]).then_some(state.partner)
    }
}
