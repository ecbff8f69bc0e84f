//! Changes that a reload refuses, each by its name.

use control::config::{self, Environment, restart_needed};
use control::model::Config;

fn config(dataplane: &str, port: &str) -> Config {
    let text = format!(
        "[dataplane]\n{dataplane}\n[[port]]\nname = \"up\"\ndevice = \"net_null0\"\n{port}\n"
    );
    config::parse("f", &text, &Environment::default()).unwrap_or_else(|e| panic!("{e}")).config
}

#[test]
fn each_setting_of_the_process_is_named_with_both_values() {
    let old = config("workers = [1]", "");
    let cases = [
        ("workers = [1, 2]", "", "dataplane.workers: [1] → [1, 2]"),
        ("workers = [1]\nmemory = \"1G\"", "", "dataplane.memory: \"512M\" → \"1G\""),
        ("workers = [1]\nhugepages = \"off\"", "", "dataplane.hugepages: \"auto\" → \"off\""),
        (
            "workers = [1]\nconntrack_entries = 5000",
            "",
            "dataplane.conntrack_entries: 1000000 → 5000",
        ),
        ("workers = [1]\ninsert_rate = 0", "", "dataplane.insert_rate: 1000000 → 0"),
        ("workers = [1]\nidle = \"spin\"", "", "dataplane.idle: \"adaptive\" → \"spin\""),
        ("workers = [1]\neal_args = [\"-v\"]", "", "dataplane.eal_args: [] → [\"-v\"]"),
        ("workers = [1]", "mtu = 9000", "port \"up\" mtu: 1500 → 9000"),
        ("workers = [1]", "host_interface = \"wr0\"", "port \"up\" host_interface: \"\" → \"wr0\""),
        ("workers = [1]", "host_rate = 7", "port \"up\" host_rate: 50000 → 7"),
        (
            "workers = [1]",
            "[[port]]\nname = \"b\"\ndevice = \"net_null1\"",
            "ports: [\"up\"] → [\"up\", \"b\"]",
        ),
    ];
    for (dataplane, port, expected) in cases {
        assert_eq!(restart_needed(&old, &config(dataplane, port)), [expected]);
    }
}

#[test]
fn how_a_bond_is_made_needs_a_restart() {
    let bond = |mode: &str, last: &str| {
        let members = format!("members = [\"net_null0\", \"{last}\"]");
        let text =
            format!("[[port]]\nname = \"up\"\ndevice = \"bond0\"\n{members}\nbond = \"{mode}\"");
        config::parse("f", &text, &Environment::default()).unwrap_or_else(|e| panic!("{e}")).config
    };
    let changes = restart_needed(&bond("lacp", "net_null1"), &bond("active-backup", "net_null2"));
    let expected = [
        "port \"up\" bond: \"lacp\" → \"active-backup\"",
        "port \"up\" members: [\"net_null0\", \"net_null1\"] → [\"net_null0\", \"net_null2\"]",
    ];
    assert_eq!(changes, expected);
}

#[test]
fn addresses_may_change_with_and_without_a_host_interface() {
    for host in ["", "host_interface = \"wr0\"\n"] {
        let old = config("", &format!("{host}addresses = [\"10.0.0.2/24\"]"));
        let new = config("", &format!("{host}addresses = [\"10.0.0.3/24\", \"2001:db8::3/64\"]"));
        assert_eq!(restart_needed(&old, &new), Vec::<String>::new());
    }
}

#[test]
fn what_is_part_of_the_tables_needs_no_restart() {
    let old = config("", "");
    let new = config(
        "hash_seed = \"00000000000000000000000000000001\"\nmaglev_table_size = 251",
        "addresses = [\"10.0.0.2/24\"]\ngateways = [\"10.0.0.1\"]\nneighbours = { \"10.0.0.1\" = \"02:00:00:00:00:01\" }",
    );
    assert_eq!(restart_needed(&old, &new), Vec::<String>::new());
    assert_eq!(restart_needed(&old, &old), Vec::<String>::new());
}
