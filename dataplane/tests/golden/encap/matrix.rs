//! Every inner family and protocol in every tunnel over every outer family, tagged and not, the
//! source spread and not (N-1, N-2).

use etherparse::{NetSlice, SlicedPacket, TransportSlice};
use tables::template::{GueVariant, TemplateSpec, Tunnel};
use tables::{Family, PortId};

use super::outer::{ID, SPREAD4, SPREAD6, expected, sent, spec, template};
use crate::frames::{L4, packet};

const FAMILIES: [Family; 2] = [Family::V4, Family::V6];
const TUNNELS: [Tunnel; 5] = [
    Tunnel::Ipip,
    Tunnel::Gre { key: None },
    Tunnel::Gre { key: Some(0xDEAD_BEEF) },
    Tunnel::Gue { port: 6080, variant: GueVariant::Zero },
    Tunnel::Gue { port: 60_800, variant: GueVariant::One },
];

fn every_spec() -> impl Iterator<Item = TemplateSpec> {
    let pairs = FAMILIES.into_iter().flat_map(|inner| FAMILIES.map(|outer| (inner, outer)));
    let tunnels = pairs.flat_map(|(inner, outer)| TUNNELS.map(|t| spec(inner, outer, t)));
    let spread = tunnels.flat_map(|spec| {
        let prefix = if spec.source.is_ipv4() { SPREAD4 } else { SPREAD6 };
        [None, prefix.parse().ok()].map(|entropy| TemplateSpec { entropy, ..spec.clone() })
    });
    spread.flat_map(|spec| [0, 9, 4095].map(|vlan| TemplateSpec { vlan, ..spec.clone() }))
}

#[test]
fn every_combination_goes_out_as_written() {
    for spec in every_spec() {
        for l4 in [L4::Tcp, L4::Udp, L4::Icmp] {
            for (vlan, l3) in [(0, 14), (7, 18)] {
                let frame = packet(spec.inner, l4, vlan, b"the quick brown fox");
                let out = sent(&frame, vlan, &spec);
                assert_eq!(out, expected(&spec, &frame[l3..], 0, ID), "{l4:?} {vlan} {spec:?}");
                strict(&out, &spec);
            }
        }
    }
}

/// A second opinion on the outer header.
fn strict(out: &[u8], spec: &TemplateSpec) {
    let sliced = SlicedPacket::from_ethernet(out).expect("a valid frame");
    match sliced.net.expect("IP") {
        NetSlice::Ipv4(ip) => {
            let header = ip.header().to_header();
            assert_eq!(header.header_checksum, header.calc_header_checksum());
            assert!(header.dont_fragment);
        }
        NetSlice::Ipv6(ip) => {
            assert_eq!(ip.header().hop_limit(), spec.ttl);
            if let Some(TransportSlice::Udp(udp)) = sliced.transport {
                let header = udp.to_header();
                let sum = header.calc_checksum_ipv6(&ip.header().to_header(), udp.payload());
                assert_eq!(Ok(header.checksum), sum.map_err(|_| ()));
            }
        }
        NetSlice::Arp(_) => panic!("not IP"),
    }
}

#[test]
fn it_leaves_by_the_port_of_its_backend() {
    let spec = TemplateSpec { port: PortId(3), ..spec(Family::V4, Family::V6, Tunnel::Ipip) };
    assert_eq!(template(&spec).egress(), PortId(3));
}
