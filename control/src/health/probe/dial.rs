//! The TCP connection of a probe.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tables::probes::{Claim, ProbeSlots};
use tables::{Family, SlotId};
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exit {
    /// Its host interface.
    pub interface: String,
    /// The mark that its packets are routed by, past the host's own routes.
    pub mark: u32,
    /// Its addresses with their prefixes: one of them is where the answer comes to.
    pub addresses: Vec<ipnet::IpNet>,
}

/// Makes connections.
#[derive(Clone, Debug, Default)]
pub struct Dialer {
    /// The ports with a host interface, in the order of the file.
    pub exits: Vec<Exit>,
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
        let none = || {
            Reason::Local("no port with a host_interface has an address of the VIP's family".into())
        };
        let (exit, own) = self.exit(vip, backend).ok_or_else(none)?;
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

    /// The port that the backend is on link at, if the answer can come back there; else the first
    /// one where it can.
    fn exit(&self, vip: IpAddr, backend: IpAddr) -> Option<(&Exit, IpAddr)> {
        let own = |exit: &Exit| {
            let addresses = exit.addresses.iter().map(ipnet::IpNet::addr);
            addresses.into_iter().find(|a| a.is_ipv4() == vip.is_ipv4())
        };
        let on_link = |exit: &Exit| exit.addresses.iter().any(|net| net.contains(&backend));
        let able: Vec<_> = self.exits.iter().filter_map(|e| Some((e, own(e)?))).collect();
        able.iter().find(|(e, _)| on_link(e)).or(able.first()).copied()
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
