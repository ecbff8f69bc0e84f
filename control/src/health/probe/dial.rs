//! The TCP connection of a probe.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::RwLock;
use tables::probes::{Claim, ProbeSlots};
use tables::{Family, PortId, SlotId};
use tokio::net::{TcpSocket, TcpStream};

use super::deadline::Deadline;
use crate::health::question::{At, Question};
use crate::health::report::{Reason, Step};

/// How long a source port stays the probe's after its connection has ended: the last packet has to
/// get through the host interface and a worker.
const LINGER: Duration = Duration::from_secs(1);

/// So many source ports are tried before there is none.
const TRIES: usize = 16;

/// A port of the appliance, as far as probes leave by it.
#[derive(Clone, Debug)]
pub struct Exit {
    /// Which one.
    pub port: PortId,
    /// Its host interface.
    pub interface: String,
    /// The mark that its packets are routed by, past the host's own routes.
    pub mark: u32,
    /// Its addresses: one of them is where the answer comes to.
    pub addresses: Vec<IpAddr>,
    /// Whether it is connected.
    pub link: LinkUp,
}

/// Whether a port's link is up, as last seen; up before anybody has looked. Clones are the same.
#[derive(Clone, Debug)]
pub struct LinkUp(Arc<AtomicBool>);

impl LinkUp {
    /// Says how it is now.
    pub fn set(&self, up: bool) {
        self.0.store(up, Ordering::Relaxed);
    }

    fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Default for LinkUp {
    fn default() -> Self {
        Self(Arc::new(AtomicBool::new(true)))
    }
}

/// What probes to VIPs leave by.
pub struct Exits {
    /// The ports with a host interface, in the order of the file.
    pub all: Vec<Exit>,
    /// The ports that packets to a backend leave by now.
    pub leading: Box<dyn Fn(IpAddr) -> Vec<PortId> + Send + Sync>,
}

impl Default for Exits {
    fn default() -> Self {
        Self { all: Vec::new(), leading: Box::new(|_| Vec::new()) }
    }
}

impl fmt::Debug for Exits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Exits").field(&self.all).finish()
    }
}

/// Makes connections. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Dialer {
    /// Another file may give ports other addresses.
    pub exits: Arc<RwLock<Arc<Exits>>>,
    /// Which backend each probe is for: read by the workers.
    pub slots: Arc<ProbeSlots>,
}

impl Dialer {
    pub(super) async fn dial(
        &self,
        question: &Question,
        to: SocketAddr,
        slot: SlotId,
        deadline: Deadline,
    ) -> Result<(TcpStream, Option<Released>), Reason> {
        let (socket, claim) = match &question.at {
            At::Address(_) => (socket(to.ip()).map_err(local)?, None),
            At::Vips { backend, .. } => {
                let (socket, claim) = self.through(to.ip(), *backend, slot)?;
                (socket, Some(claim))
            }
        };
        let connected = deadline.within(Step::Connect, socket.connect(to)).await?;
        Ok((connected.map_err(connecting)?, claim))
    }

    /// A socket whose packets go to one backend, whatever the rules say (W-8).
    fn through(
        &self,
        vip: IpAddr,
        backend: IpAddr,
        slot: SlotId,
    ) -> Result<(TcpSocket, Released), Reason> {
        let exits = Arc::clone(&self.exits.read());
        let (exit, own) = exits.choose(vip, backend)?;
        let family = if vip.is_ipv4() { Family::V4 } else { Family::V6 };
        for _ in 0..TRIES {
            let socket = bound(exit, own).map_err(local)?;
            let port = socket.local_addr().map_err(local)?.port();
            if let Some(claim) = self.slots.claim(family, port, slot) {
                return Ok((socket, Released(Some(claim))));
            }
        }
        Err(Reason::Local("every source port that was tried still belongs to another probe".into()))
    }
}

impl Exits {
    /// A port that packets to the backend leave by, if it is connected and the answer can come back
    /// there; else the first one of which that is so. Whoever answers sends to this port's address, and
    /// what arrives at another one is not the probe's.
    fn choose(&self, vip: IpAddr, backend: IpAddr) -> Result<(&Exit, IpAddr), Reason> {
        let own =
            |exit: &Exit| exit.addresses.iter().copied().find(|own| own.is_ipv4() == vip.is_ipv4());
        let able: Vec<_> = self.all.iter().filter_map(|e| Some((e, own(e)?))).collect();
        let cut = if able.is_empty() {
            "no port with a host_interface has an address of the VIP's family"
        } else {
            "the links of all ports that it could leave by are down"
        };
        let up: Vec<_> = able.into_iter().filter(|(exit, _)| exit.link.get()).collect();
        let leading = (self.leading)(backend);
        let best = up.iter().find(|(exit, _)| leading.contains(&exit.port)).or(up.first());
        best.copied().ok_or_else(|| Reason::Local(cut.into()))
    }
}

/// A probe's source port; it stays the probe's for a moment after the connection has ended.
#[derive(Debug)]
pub struct Released(Option<Claim>);

impl Drop for Released {
    fn drop(&mut self) {
        let Some(claim) = self.0.take() else { return };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                tokio::time::sleep(LINGER).await;
                drop(claim);
            });
        }
    }
}

fn socket(to: IpAddr) -> io::Result<TcpSocket> {
    let socket = if to.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // Closing resets: a source port that waits for its connection's last packets for a minute would
    // soon be missing.
    socket.set_zero_linger()?;
    socket.set_nodelay(true)?;
    Ok(socket)
}

fn bound(exit: &Exit, own: IpAddr) -> io::Result<TcpSocket> {
    let socket = socket(own)?;
    socket.bind_device(Some(exit.interface.as_bytes()))?;
    socket2::SockRef::from(&socket).set_mark(exit.mark)?;
    socket.bind(SocketAddr::new(own, 0))?;
    Ok(socket)
}

/// A fault of this host.
fn local(error: io::Error) -> Reason {
    Reason::Local(error.to_string())
}

/// No connection: mostly the other side's fault.
fn connecting(error: io::Error) -> Reason {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => Reason::Refused,
        io::ErrorKind::AddrNotAvailable
        | io::ErrorKind::AddrInUse
        | io::ErrorKind::PermissionDenied
        | io::ErrorKind::OutOfMemory => local(error),
        _ => Reason::Connect(plain(&error)),
    }
}

/// The system's words without its number.
fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exit(port: u8, interface: &str, addresses: &[&str]) -> Exit {
        let addresses = addresses.iter().map(|a| a.parse().unwrap()).collect();
        let (port, link) = (PortId(port), LinkUp::default());
        Exit { port, interface: interface.into(), mark: 0, addresses, link }
    }

    #[test]
    fn a_probe_leaves_by_a_port_whose_link_is_up_by_one_that_leads_to_the_backend_if_it_can() {
        let all = vec![
            exit(0, "front", &["10.0.1.1", "2001:db8:1::1"]),
            exit(2, "back", &["10.0.2.1"]),
            exit(3, "side", &["10.0.4.1"]),
        ];
        let links: Vec<_> = all.iter().map(|exit| exit.link.clone()).collect();
        // Port 1 has no host interface.
        let leading = |backend| match backend {
            IpAddr::V4(backend) if backend.octets()[1] == 7 => vec![PortId(1), PortId(2)],
            _ => Vec::new(),
        };
        let exits = Exits { all, leading: Box::new(leading) };
        let chosen = |vip: &str, backend: &str, up: [bool; 3]| {
            links.iter().zip(up).for_each(|(link, up)| link.set(up));
            let chosen = exits.choose(vip.parse().unwrap(), backend.parse().unwrap());
            chosen.map_or_else(|e| e.to_string(), |(exit, own)| format!("{} {own}", exit.interface))
        };
        let (all, led, unknown) = ([true; 3], "10.7.0.11", "10.8.0.11");
        for (vip, backend, up, expected) in [
            ("203.0.113.10", led, all, "back 10.0.2.1"),
            ("203.0.113.10", unknown, all, "front 10.0.1.1"),
            ("203.0.113.10", led, [true, false, true], "front 10.0.1.1"),
            ("203.0.113.10", led, [false, false, true], "side 10.0.4.1"),
            ("2001:db8:f::10", led, all, "front 2001:db8:1::1"),
        ] {
            assert_eq!(chosen(vip, backend, up), expected, "{vip} {backend} {up:?}");
        }
        let cut = chosen("2001:db8:f::10", led, [false, true, true]);
        assert!(cut.contains("are down"), "{cut}");
    }
}
