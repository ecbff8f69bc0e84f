//! Packet in → packet out.

mod checksums;
mod fields;
mod literal;
mod matrix;
pub(crate) mod outer;
mod sizes;
