//! The whole way of a packet, on ports in memory: named frame in → outcome, every counter checked.

mod balance;
mod distribution;
mod encapsulations;
mod fragments;
mod given;
mod icmp;
mod meanwhile;
mod odd;
mod pieces;
mod probes;
mod publication;
mod rig;
mod waiting;
mod workers;
