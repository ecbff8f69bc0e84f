//! Lengths, sums and what is refused.

use super::*;
use crate::Mac;

fn spec(source: &str, destination: &str, vlan: u16, tunnel: Tunnel) -> TemplateSpec {
    TemplateSpec {
        port: PortId(1),
        src_mac: Mac([2, 0, 0, 0, 0, 1]),
        next_hop: Some(Mac([2, 0, 0, 0, 0, 2])),
        vlan,
        mtu: 1500,
        fragment_oversize: false,
        source: source.parse().expect("address"),
        destination: destination.parse().expect("address"),
        entropy: None,
        tunnel,
        inner: Family::V4,
        dscp: Dscp::Copy,
        ttl: 64,
    }
}

fn gue(variant: GueVariant) -> Tunnel {
    Tunnel::Gue { port: 6080, variant }
}

#[test]
fn the_header_is_as_long_as_its_parts_and_leaves_the_rest_to_the_inner_packet() {
    let key = Tunnel::Gre { key: Some(7) };
    for (source, destination, vlan, tunnel, l3, outer) in [
        ("10.0.0.2", "10.1.0.11", 0, Tunnel::Ipip, 14, 20),
        ("10.0.0.2", "10.1.0.11", 7, Tunnel::Gre { key: None }, 18, 24),
        ("2001:db8::2", "2001:db8::11", 0, Tunnel::Ipip, 14, 40),
        ("2001:db8::2", "2001:db8::11", 7, key, 18, 48),
        ("10.0.0.2", "10.1.0.11", 0, gue(GueVariant::Zero), 14, 32),
        ("2001:db8::2", "2001:db8::11", 7, gue(GueVariant::Zero), 18, 52),
        ("2001:db8::2", "2001:db8::11", 7, gue(GueVariant::One), 18, 48),
        ("10.0.0.2", "10.1.0.11", 7, Tunnel::L3dsr { dscp: 1 }, 18, 0),
        ("10.0.0.2", "10.1.0.11", 0, Tunnel::L2, 14, 0),
    ] {
        let template = Template::new(&spec(source, destination, vlan, tunnel)).expect("one family");
        assert_eq!((template.l3(), template.header().len()), (l3, l3 + outer));
        assert_eq!(usize::from(template.max_inner()), 1500 - outer);
    }
}

#[test]
fn a_backend_of_another_family_than_the_source_is_an_error() {
    let spec = spec("10.0.0.2", "2001:db8::11", 0, Tunnel::Ipip);
    let error = Template::new(&spec).expect_err("mixed");
    assert!(error.to_string().contains("2001:db8::11"));
}

#[test]
fn an_mtu_below_the_header_leaves_no_room() {
    let spec = TemplateSpec { mtu: 19, ..spec("10.0.0.2", "10.1.0.11", 0, Tunnel::Ipip) };
    assert_eq!(Template::new(&spec).expect("one family").max_inner(), 0);
}

#[test]
fn an_unknown_next_hop_is_unresolved() {
    let spec = TemplateSpec { next_hop: None, ..spec("10.0.0.2", "10.1.0.11", 0, Tunnel::Ipip) };
    assert!(!Template::new(&spec).expect("one family").resolved());
}

#[test]
fn two_templates_fill_four_cache_lines() {
    assert_eq!(std::mem::size_of::<[Template; 2]>(), 256);
}

#[test]
fn a_spread_source_leaves_the_prefix_to_the_header_and_the_rest_to_the_flow() {
    for (backend, prefix, mask, tunnel) in [
        ("10.1.0.11", "172.16.0.0/16", 0xFFFF, Tunnel::Ipip),
        ("10.1.0.11", "172.16.0.0/28", 0xF, Tunnel::Gre { key: None }),
        ("2001:db8::11", "2001:db8:e::/64", u32::MAX, Tunnel::Ipip),
        ("2001:db8::11", "2001:db8:e::/124", 0xF, Tunnel::Ipip),
        ("10.1.0.11", "172.16.0.0/16", 0, gue(GueVariant::Zero)),
    ] {
        let source = if backend.contains(':') { "2001:db8::2" } else { "10.0.0.2" };
        let entropy = Some(prefix.parse().expect("a prefix"));
        let spec = TemplateSpec { entropy, ..spec(source, backend, 0, tunnel) };
        let template = Template::new(&spec).expect("one family");
        assert_eq!(template.source_mask(), mask, "{prefix}");
        assert!(template.varies());
    }
}

#[test]
fn l3dsr_has_no_way_for_packets_of_another_family() {
    let dsr = spec("10.0.0.2", "10.1.0.11", 0, Tunnel::L3dsr { dscp: 1 });
    assert!(Template::new(&dsr).expect("no outer header").resolved());
    let other = TemplateSpec { inner: Family::V6, ..dsr };
    assert!(!Template::new(&other).expect("no outer header").resolved());
}

#[test]
fn flows_are_spread_over_next_hops_by_their_share_of_the_labels() {
    let to = |mac| TemplateSpec {
        next_hop: Some(Mac([2, 0, 0, 0, 0, mac])),
        ..spec("10.0.0.2", "10.1.0.11", 0, Tunnel::Ipip)
    };
    let way = |mac| Template::new(&to(mac)).expect("one family").behind(mac.into());
    for (weights, steps) in [
        (vec![1], 1),
        (vec![1, 1], 1000),
        (vec![1, 2, 1], 1000),
        (vec![0, 1], 1000),
        (vec![1; 16], 1600),
        ((1..=40).collect(), 8200),
    ] {
        let ways = (1..).zip(&weights).map(|(mac, weight)| (way(mac), *weight)).collect();
        let template = Template::spread(ways).expect("there are some");
        assert_eq!(template.varies(), weights.len() > 1);
        let mut counts = vec![0; weights.len()];
        for step in 0..steps {
            let label = (u64::from(u32::MAX) * step / (steps - 1).max(1)) as u32;
            counts[template.of_flow(label).hop() as usize - 1] += 1;
        }
        let total: u64 = weights.iter().map(|weight| u64::from(*weight).max(1)).sum();
        for (count, weight) in counts.iter().zip(&weights) {
            let share = steps * u64::from(*weight).max(1) / total;
            assert!(share.abs_diff(*count) <= 1, "{counts:?} for {weights:?}");
        }
    }
    assert!(Template::spread(Vec::new()).is_none());
}
