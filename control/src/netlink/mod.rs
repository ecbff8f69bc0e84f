//! The kernel's routes, neighbours and links, by netlink (D-11).
//!
//! Routing is the kernel's: an operator's routes, and those that BIRD or FRR learn over a host
//! interface, lead to the backends, and the kernel finds out Ethernet addresses. This module
//! mirrors what it decides. In reading order:
//!
//! - [`fact`] and [`route`]: a message → what it says;
//! - [`network`]: the picture that they make, and the look-up of an address in it (`table` is one
//!   routing table);
//! - [`mirror`]: dumps and news in their order → the picture (pure);
//! - [`keep`]: which next hops the kernel is asked for; `watch` and `notices`: what of it all is
//!   news to workers and people (pure);
//! - `request`, `socket`: bytes for and from the kernel;
//! - [`mod@follow`]: the task that keeps all this going.
//!
//! What is written: [`probe_way`], how health checks' probes get to VIPs, and [`carrier`], whether a
//! host interface's port is connected.
//!
//! [`snapshot`] reads it all once.

pub mod carrier;
pub mod fact;
pub mod follow;
pub mod keep;
pub mod mirror;
pub mod network;
mod notices;
pub mod probe_way;
mod request;
pub mod route;
mod socket;
mod table;
#[cfg(test)]
mod tests;
mod watch;
#[cfg(test)]
mod watch_tests;

use std::io;

pub use fact::Neighbour;
pub use follow::{Kernel, follow};
pub use mirror::Mirror;
pub use network::{Network, Step, Verdict, Way};
use socket::{PIECE, Read};

/// Reads the kernel's routes, neighbours and links, as far as they concern these interfaces, in
/// the network namespace of the calling thread. Waits for the answers.
///
/// # Errors
/// The kernel has no netlink for us.
pub fn snapshot<S: Into<String>>(interfaces: impl IntoIterator<Item = S>) -> io::Result<Network> {
    let socket = socket::asking()?;
    let mut mirror = Mirror::new(interfaces);
    let mut request = Some(mirror.start());
    loop {
        if let Some(request) = request.take() {
            socket.send(&request::dump(request), 0)?;
        }
        let mut piece = Vec::with_capacity(PIECE);
        socket.recv(&mut piece, 0)?;
        for read in socket::messages(&piece) {
            if let Read::Message(message) = read {
                request = mirror.take(&message).or(request);
            }
        }
        if let Some(network) = mirror.network() {
            return Ok(network.clone());
        }
    }
}
