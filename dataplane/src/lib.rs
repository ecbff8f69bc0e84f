//! The packet's way: parse, classify, track, select, encapsulate, transmit.
//!
//! Read [`worker`] first: it is the whole way on one page. Each stage takes a [`batch::Batch`] and
//! leaves its result in it:
//!
//! - [`parse`]: frame → [`Parsed`](parse::Parsed), or an outcome;
//! - [`fragment`]: later fragments follow their first one, or wait for it (S-6);
//! - [`classify`]: destination → rule, service (F-1 to F-4);
//! - [`track`]: the connection table (D-2 to D-4);
//! - [`select`]: Maglev, for what is not tracked (S-1, S-2);
//! - [`encap`]: the outer header (D-8);
//! - [`waiting`]: what waits for its next hop;
//! - [`icmp`]: answers to what was too big, echo replies, path MTUs (D-8, N-3, S-7);
//! - [`tx`]: out, to the network or to the host; every packet is counted here, once (D-7);
//! - [`io`]: where frames come from and go to: DPDK, memory, captures;
//! - [`run`] and [`idle`]: the loop around it, and what it does when nothing arrives.
//!
//! This crate must not know configuration, policy or health: it reads [`tables`] and nothing else.

// Nothing that a packet meets may panic; only tests may.
#![cfg_attr(
    not(test),
    deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

pub mod batch;
pub mod classify;
pub mod encap;
pub mod fragment;
pub mod icmp;
pub mod idle;
pub mod io;
pub mod parse;
pub mod prefetch;
pub mod probe;
pub mod run;
pub mod select;
#[allow(
    clippy::indexing_slicing,
    reason = "within bounds by a remainder, a place made of the count, a length, a resize"
)]
pub mod track;
pub mod tx;
pub mod waiting;
pub mod worker;
