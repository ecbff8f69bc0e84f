//! One short script for each statement of the specification that is about time: what happens, and
//! what must come of it. Each line is an event at its second; behind `=>` is what is expected.

#[path = "../../src/bin/windrose/desk.rs"]
mod desk;
mod reused;
mod script;

use script::play;

const PER_SESSION: &str = "tracking_mode = \"PER_SESSION\"\nsession_affinity = \"CLIENT_IP\"";
const FAILOVER: &str =
    "[service.failover_policy]\nconnection_draining_on_failover = false\nfailover_ratio = 0.0";

#[test]
fn t1_a_syn_is_new_and_replaces_the_entry_but_not_when_nobody_is_eligible() {
    play(
        "profile = \"azure\"",
        "0 up p/1
         1 tcp 1000 S => forward selected created p/1
         2 tcp 1000 S => forward selected replaced p/1
         3 down p/1   => removed 0
         4 tcp 1000 S => drop no_eligible_backend none -
         5 tcp 1000 A => forward tracked hit p/1",
    );
}

#[test]
fn t1_per_session_a_syn_of_a_client_with_an_entry_follows_it() {
    play(
        PER_SESSION,
        "0 up p/1
         1 tcp 1000 S => forward selected created p/1
         2 up p/2
         2 weight p/1 0
         3 tcp 1001 S => forward tracked hit p/1",
    );
}

#[test]
fn t2_what_is_not_trackable_is_selected_packet_by_packet() {
    play(
        "profile = \"gcp-external\"",
        "0 up p/1
         1 udp 1000   => forward selected none p/1
         2 up p/2
         2 down p/1   => removed 0
         3 udp 1000   => forward selected none p/2",
    );
}

/// The second packet comes in the next burst, and finds what the first one left (N-6).
#[test]
fn t3_t5_every_protocol_of_native_is_tracked() {
    for protocol in ["udp 1000", "icmp", "esp", "gre", "253"] {
        play(
            "",
            &format!(
                "0 up p/1
                 1 {protocol} => forward selected created p/1
                 2 {protocol} => forward tracked hit p/1"
            ),
        );
    }
}

#[test]
fn t8_t9_fin_and_rst_are_activity_and_idleness_ends_an_entry_to_the_millisecond() {
    play(
        "idle_timeout = \"2s\"",
        "0 up p/1
         0 tcp 1000 S     => forward selected created p/1
         1 tcp 1000 F     => forward tracked hit p/1
         2 tcp 1000 R     => forward tracked hit p/1
         3.999 tcp 1000 A => forward tracked hit p/1
         5.999 tcp 1000 A => forward selected created p/1",
    );
}

#[test]
fn t11_t12_a_replacement_entry_stays_when_its_backends_predecessor_recovers() {
    play(
        "",
        "0 up p/1
         1 udp 1000 => forward selected created p/1
         2 up p/2
         3 down p/1 => removed 1
         4 udp 1000 => forward selected created p/2
         5 up p/1   => removed 0
         6 udp 1000 => forward tracked hit p/2",
    );
}

#[test]
fn t11_an_entry_made_on_a_backend_already_unhealthy_stays() {
    play(
        "",
        "0 up p/1
         1 down p/1
         2 down p/2 => removed 0
         3 drain p/2
         4 udp 1000 => forward selected created p/1
         5 down p/1 => removed 0
         6 udp 1000 => forward tracked hit p/1",
    );
}

#[test]
fn t14_w2_a_weight_of_zero_ends_no_entry_and_takes_no_new_connection() {
    play(
        "locality_lb_policy = \"WEIGHTED_MAGLEV\"",
        "0 up p/1
         1 tcp 1000 S   => forward selected created p/1
         2 up p/2
         3 weight p/1 0 => removed 0
         4 tcp 1000 A   => forward tracked hit p/1
         5 tcp 1001 S   => forward selected created p/2",
    );
}

#[test]
fn t10_t14_a_switch_counts_through_an_empty_set() {
    play(
        &format!("{FAILOVER}\ndrop_traffic_if_unhealthy = true"),
        "0 up p/1
         1 tcp 1000 S => forward selected created p/1
         2 down p/1   => removed 0
         3 tcp 1001 S => drop no_eligible_backend none -
         4 up f/1     => removed 1
         5 tcp 1000 A => forward selected created f/1",
    );
}

#[test]
fn t17_from_failover_to_unhealthy_primaries_is_a_switch_and_the_healthys_failure_is_none() {
    play(
        FAILOVER,
        "0 up p/1
         1 tcp 1000 S => forward selected created p/1
         2 down p/1   => removed 0
         3 up f/1     => removed 1
         4 tcp 1000 A => forward selected created f/1
         5 down f/1   => removed 1",
    );
}

#[test]
fn t13_t15_t18_a_drained_backend_keeps_its_entries_until_the_deadline_or_its_return() {
    play(
        "connection_draining_timeout = \"30s\"",
        "0 up p/1
         1 tcp 1000 S  => forward selected created p/1
         2 up p/2
         3 drain p/1   => removed 0
         4 tcp 1001 S  => forward selected created p/2
         5 down p/1    => removed 0
         32 enable p/1 => removed 0
         40 tcp 1000 A => forward tracked hit p/1
         41 drain p/1  => removed 0
         71 tcp 1000 A => forward selected created p/2",
    );
}

/// H-1 is the first row.
#[test]
fn h2_h3_h5_persistence_decides_what_outlives_a_failure() {
    for (persistence, tcp, udp, removed) in [
        ("DEFAULT_FOR_PROTOCOL", "tracked hit p/1", "selected created p/2", 1),
        ("NEVER_PERSIST", "selected created p/2", "selected created p/2", 2),
        ("ALWAYS_PERSIST", "tracked hit p/1", "tracked hit p/1", 0),
    ] {
        play(
            &format!("connection_persistence_on_unhealthy_backends = \"{persistence}\""),
            &format!(
                "0 up p/1
                 1 tcp 1000 S   => forward selected created p/1
                 1 udp 1000     => forward selected created p/1
                 2 up p/2
                 3 down p/1     => removed {removed}
                 4 tcp 1000 A   => forward {tcp}
                 4 udp 1000     => forward {udp}
                 604 tcp 1000 A => forward selected created p/2"
            ),
        );
    }
}

#[test]
fn e10_a_failover_group_without_a_policy_has_the_default_one() {
    play(
        "",
        "0 up f/1
         1 tcp 1000 S => forward selected created f/1
         2 up p/1     => removed 0
         3 tcp 1000 A => forward tracked hit f/1
         4 tcp 1001 S => forward selected created p/1",
    );
}

#[test]
fn f5_one_client_reaches_one_backend_by_every_protocol() {
    play(
        "session_affinity = \"CLIENT_IP\"",
        "0 up p/1
         0 up p/2
         1 tcp 1000 S => forward selected created @
         2 udp 2000   => forward selected created @
         3 icmp       => forward selected created @
         4 tcp 1001 S => forward selected created @",
    );
}

#[test]
fn s7_an_error_follows_its_connection_in_every_profile() {
    for profile in ["native", "gcp-external", "gcp-internal", "azure"] {
        play(
            &format!("profile = \"{profile}\""),
            "0 up p/1
             1 tcp 1000 S     => forward selected created p/1
             2 up p/2
             3 down p/1       => removed 0
             4 error tcp 1000 => forward quoted hit p/1
             5 error tcp 2000 => forward quoted none p/2
             6 tcp 2000 A     => forward selected created p/2",
        );
    }
    play(
        "profile = \"gcp-external\"",
        "0 up p/1
         1 udp 1000       => forward selected none p/1
         2 error udp 1000 => forward quoted none p/1",
    );
}
