//! Our own encapsulated packets, come back (N-5).

use tables::Tables;

use super::Parsed;

const IPV4: u8 = 4;
const UDP: u8 = 17;
const IPV6: u8 = 41;
const GRE: u8 = 47;

/// Whether the packet is one that an appliance with these Tables encapsulated. A backend that
/// forwards instead of decapsulating would otherwise have us wrap it again, for ever. (Without a
/// tunnel there is no outer source to tell it by; there the backend counts down its TTL.)
#[inline(always)]
pub fn is_loop(parsed: &Parsed, tables: &Tables) -> bool {
    is_tunnel(parsed, tables) && is_ours(parsed, tables)
}

/// Whether the packet is of an encapsulation's protocol; for all of one [`tables::Target`] the same.
#[inline(always)]
pub(crate) fn is_tunnel(parsed: &Parsed, tables: &Tables) -> bool {
    let flow = &parsed.flow;
    match flow.proto() {
        IPV4 | IPV6 | GRE => true,
        UDP => tables.gue_ports.contains(&flow.dport()),
        _ => false,
    }
}

#[cold]
#[inline(never)]
fn is_ours(parsed: &Parsed, tables: &Tables) -> bool {
    tables.is_tunnel_source(parsed.flow.src())
}
