//! Packet in → packet out.

mod checksums;
mod direct;
mod fields;
mod literal;
mod matrix;
pub(crate) mod outer;
mod oversize;
mod sizes;
