//! A client's port or address that comes again, as another connection or as the same one.

use super::{PER_SESSION, play};

/// A port that was closed is used again before the entry has gone: nothing of the old connection
/// decides, and no packet is lost on the way.
#[test]
fn t1_a_port_that_is_used_again_goes_to_who_is_eligible_now_by_its_first_packet() {
    for change in ["drain p/1", "disable p/1", "down p/1"] {
        play(
            "connection_draining_timeout = \"30s\"",
            &format!(
                "0 up p/1
                 1 tcp 1000 S  => forward selected created p/1
                 2 tcp 1000 FA => forward tracked hit p/1
                 3 up p/2
                 4 {change}    => removed 0
                 5 tcp 1000 A  => forward tracked hit p/1
                 6 tcp 1000 S  => forward selected replaced p/2
                 7 tcp 1000 A  => forward tracked hit p/2"
            ),
        );
    }
}

/// What a QUIC client does behind a NAT that forgets it: the same peers, another port.
#[test]
fn t7_a_client_whose_port_changes_keeps_its_backend_by_its_session() {
    play(
        PER_SESSION,
        "0 up p/1
         1 udp 1000 => forward selected created p/1
         2 up p/2
         2 weight p/1 0
         3 udp 2000 => forward tracked hit p/1
         4 udp 3000 => forward tracked hit p/1",
    );
}

/// IKE, its NAT traversal and ESP are one tunnel to their peers.
#[test]
fn f5_a_tunnels_negotiation_and_its_packets_reach_one_backend() {
    play(
        "session_affinity = \"CLIENT_IP\"",
        "0 up p/1
         0 up p/2
         1 udp 500  => forward selected created @
         2 udp 4500 => forward selected created @
         3 esp      => forward selected created @
         4 gre      => forward selected created @",
    );
}

/// Whatever came before: a failure, a drain, an order, another weight.
#[test]
fn t11_one_datagram_after_another_each_goes_to_a_backend_that_lives() {
    play(
        "",
        "0 up p/1
         1 udp 1000 => forward selected created p/1
         2 up p/2
         3 down p/1 => removed 1
         4 udp 1000 => forward selected created p/2
         5 up p/1   => removed 0
         6 down p/2 => removed 1
         7 udp 1000 => forward selected created p/1
         8 disable p/1 => removed 1
         9 up p/2
         10 udp 1000 => forward selected created p/2",
    );
}
