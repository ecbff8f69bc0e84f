//! Decapsulates IPIP, GRE and GUE, over IPv4 and IPv6, for a kernel without tunnel modules.
//!
//! `decap TUN`: makes the TUN device, prints `ready`, and hands every inner packet to the kernel
//! through it until SIGTERM or SIGINT; then prints how many packets came by which way. The
//! sockets also keep the kernel from answering "protocol unreachable" or "port unreachable".

use std::fs::File;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::num::NonZeroU32;
use std::os::fd::OwnedFd;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::net::{
    AddressFamily, Protocol, RecvFlags, SocketFlags, SocketType, bind, recv, socket_with, sockopt,
};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use testbed::decap::{Fault, GUE_PORT, PROTOCOLS, UDP, behind_ipv4, inner};
use testbed::{Error, Result, command, tun};

/// One outer family and protocol.
struct Way {
    v6: bool,
    protocol: u8,
    taken: AtomicU64,
    refused: AtomicU64,
}

impl Way {
    fn all() -> Vec<&'static Self> {
        let pairs = [false, true].into_iter().flat_map(|v6| PROTOCOLS.map(|p| (v6, p)));
        // They live as long as the process, as the threads that count in them do.
        pairs.map(|(v6, protocol)| &*Box::leak(Box::new(Self::new(v6, protocol)))).collect()
    }

    fn new(v6: bool, protocol: u8) -> Self {
        Self { v6, protocol, taken: AtomicU64::new(0), refused: AtomicU64::new(0) }
    }

    fn socket(&self) -> std::io::Result<OwnedFd> {
        let family = if self.v6 { AddressFamily::INET6 } else { AddressFamily::INET };
        let protocol = NonZeroU32::new(self.protocol.into()).map(Protocol::from_raw);
        let kind = if self.protocol == UDP { SocketType::DGRAM } else { SocketType::RAW };
        let socket = socket_with(family, kind, SocketFlags::CLOEXEC, protocol)?;
        if self.protocol == UDP {
            self.bind(&socket)?;
        }
        // An upload comes in bursts of more than the default 208 KiB.
        sockopt::set_socket_recv_buffer_size_force(&socket, 8 << 20)?;
        Ok(socket)
    }

    /// To the port of GUE at every address of the family.
    fn bind(&self, socket: &OwnedFd) -> std::io::Result<()> {
        let any: IpAddr = if self.v6 {
            sockopt::set_ipv6_v6only(socket, true)?;
            Ipv6Addr::UNSPECIFIED.into()
        } else {
            Ipv4Addr::UNSPECIFIED.into()
        };
        Ok(bind(socket, &SocketAddr::new(any, GUE_PORT))?)
    }

    fn strip<'a>(&self, packet: &'a [u8]) -> std::result::Result<&'a [u8], Fault> {
        let bare = self.v6 || self.protocol == UDP;
        let payload = if bare { packet } else { behind_ipv4(packet)? };
        inner(self.protocol, payload)
    }

    fn carry(&self, socket: &OwnedFd, mut tun: File) -> std::io::Result<()> {
        let mut buffer = vec![0; 1 << 16];
        loop {
            let (packet, _) = recv(socket, &mut *buffer, RecvFlags::empty())?;
            let carried = self.strip(&buffer[..packet]).map(|inner| tun.write_all(inner));
            let counter = if matches!(carried, Ok(Ok(()))) { &self.taken } else { &self.refused };
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn report(&self) {
        let family = if self.v6 { "IPv6" } else { "IPv4" };
        let (taken, refused) = (&self.taken, &self.refused);
        println!(
            "outer {family}, protocol {}: {} taken, {} refused",
            self.protocol,
            taken.load(Ordering::Relaxed),
            refused.load(Ordering::Relaxed)
        );
    }
}

fn run() -> Result<()> {
    let name = std::env::args().nth(1).unwrap_or_else(|| "decap0".to_owned());
    let io = |what: &'static str| {
        move |source: std::io::Error| Error::Io { what: what.to_owned(), source }
    };
    let mut signals = Signals::new([SIGTERM, SIGINT]).map_err(io("catching signals"))?;
    let tun = tun::create(&name)?;
    command::run(&format!("ip link set {name} up"))?;
    let ways = Way::all();
    for &way in &ways {
        let socket = way.socket().map_err(io("opening a socket"))?;
        let tun = tun.try_clone().map_err(io("sharing the TUN device"))?;
        std::thread::spawn(move || way.carry(&socket, tun));
    }
    println!("ready");
    signals.forever().next();
    ways.iter().for_each(|way| way.report());
    Ok(())
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("decap: {error}");
            ExitCode::FAILURE
        }
    }
}
