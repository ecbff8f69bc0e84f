//! ICMP errors with any quote: from the client's side of a connection, of somebody else's, of our
//! own tunnels, of nothing at all.

use crate::appliance::Appliance;
use crate::shape::{self, SOURCES};

/// Runs one input: the families, the type, who sends it to whom, then the quoted packet.
pub fn run(data: &[u8]) {
    let Some(([control, kind, code, who], quote)) = data.split_first_chunk::<4>() else { return };
    let mut appliance = Appliance::new();
    let types: [u8; 4] = if control & 1 == 0 { [3, 11, 12, 4] } else { [1, 2, 3, 4] };
    let header = [types[usize::from(kind & 3)], *code, 0, 0, 0, 0, quote.len() as u8, *kind];
    let quoted = shape::quoted(control & 1 != 0, control >> 1, quote);
    let message = [&header[..], &quoted].concat();
    let frame = shape::icmp(control & 1 != 0, &message, usize::from(*who) % SOURCES);
    appliance.arrive(0, &shape::frame(1 | control & 2, quote));
    appliance.step();
    appliance.arrive(usize::from(who >> 7), &frame);
    appliance.finish();
}
