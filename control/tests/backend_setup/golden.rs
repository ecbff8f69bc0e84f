//! What is printed, word for word.

use std::path::Path;

use control::backend_setup::{Setup, ansible, netplan, sh};

use crate::{FOUR, SIX, setup};

const VIPS: &[&str] = &["203.0.113.10", "2001:db8:f::10"];
const FOUR_VIP: &[&str] = &["203.0.113.10"];

fn compare(name: &str, printed: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/backend_setup/golden").join(name);
    if std::env::var_os("WINDROSE_GOLDEN").is_some_and(|word| word == "write") {
        std::fs::write(&path, printed).expect("writing");
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(printed == expected, "{}: expected\n{expected}\nprinted\n{printed}", path.display());
}

fn ipip() -> Setup {
    setup("kind = \"ipip\"", FOUR, VIPS)
}

#[test]
fn a_script_for_ip_in_ip_and_the_way_back() {
    compare("ipip.sh", &sh::up(&ipip()));
    compare("ipip-undo.sh", &sh::undo(&ipip()));
}

#[test]
fn backends_of_both_families_are_told_apart_on_the_host() {
    let setup = setup("kind = \"ipip\"", &format!("{FOUR}, {SIX}"), VIPS);
    compare("both.sh", &sh::up(&setup));
    compare("both-undo.sh", &sh::undo(&setup));
}

#[test]
fn gre_has_its_key_and_gue_its_port() {
    let keyed = "kind = \"gre\", gre_key = 4294967295";
    compare("gre-key.sh", &sh::up(&setup(keyed, FOUR, FOUR_VIP)));
    let gue = setup("kind = \"gue\", gue_port = 7070", SIX, VIPS);
    compare("gue-v6.sh", &sh::up(&gue));
    compare("gue-v6-undo.sh", &sh::undo(&gue));
}

#[test]
fn without_a_tunnel_there_is_no_device_and_no_clamp() {
    let l3dsr = setup("kind = \"l3dsr\", l3dsr_dscp = 5", FOUR, FOUR_VIP);
    compare("l3dsr.sh", &sh::up(&l3dsr));
    compare("l3dsr-undo.sh", &sh::undo(&l3dsr));
    compare("l2.sh", &sh::up(&setup("kind = \"l2\"", SIX, &["2001:db8:f::10"])));
}

#[test]
fn ansible_makes_it_a_unit_and_removes_it() {
    compare("ansible.yaml", &ansible::up(&ipip()));
    compare("ansible-undo.yaml", &ansible::undo(&ipip()));
}

#[test]
fn netplan_has_tunnels_and_vips_and_says_the_rest_in_comments() {
    let one = r#"{ name = "a1", address = "10.0.1.11" }"#;
    let ipip = setup("kind = \"ipip\"", one, &["203.0.113.128/25", "2001:db8:f::10"]);
    compare("netplan.yaml", &netplan::up(&ipip).expect("one backend"));
    // Netplan has no device for both families in IPv6.
    let both = setup("kind = \"ipip\"", SIX, VIPS);
    compare("netplan-v6.yaml", &netplan::up(&both).expect("one backend"));
}
