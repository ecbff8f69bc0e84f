//! Golden text: what an operator sees, to the letter.

use super::*;
use crate::admin::answer::*;

fn backend(name: &str, health: Health, share: f64) -> BackendStatus {
    BackendStatus {
        backend: name.into(),
        address: "10.1.0.11".into(),
        role: "primary".into(),
        zone: None,
        health,
        check: None,
        reason: None,
        since_seconds: Some(75),
        weight: 1,
        eligible: share > 0.0,
        why: "eligible".into(),
        share,
        connections: Some(21),
        rates: None,
        drained: false,
        disabled: false,
        drains_for_seconds: None,
    }
}

fn services() -> Vec<ServiceStatus> {
    let down = BackendStatus {
        check: Some("HTTP GET / at port 80".into()),
        reason: Some("HTTP 503".into()),
        why: "not eligible: unhealthy".into(),
        ..backend("rack-a/a2", Health::Unhealthy, 0.0)
    };
    let drained = BackendStatus {
        drained: true,
        drains_for_seconds: Some(42),
        why: "drained by the operator (T-18)".into(),
        connections: Some(1_000),
        zone: Some("b".into()),
        rates: Some(GivenRates { packets: 9.96, bytes: 998.0, new_connections: 0.0 }),
        ..backend("rack-b/b1", Health::Healthy, 0.0)
    };
    let serves = BackendStatus {
        rates: Some(GivenRates { packets: 1170.0, bytes: 1_580_000.0, new_connections: 40.2 }),
        ..backend("rack-a/a1", Health::Healthy, 1.0)
    };
    vec![ServiceStatus {
        name: "web".into(),
        profile: "native".into(),
        in_file: true,
        drained: false,
        pool: "primary".into(),
        last_resort: false,
        eligible: 1,
        why: "those that can serve (E-1)".into(),
        connections: Some(1_042),
        rates: Some(GivenRates { packets: 1180.0, bytes: 1_581_000.0, new_connections: 40.2 }),
        backends: vec![serves, down, drained],
    }]
}

fn status_now() -> Status {
    Status {
        version: "1.2.3".into(),
        pid: 77,
        file: "/etc/windrose/windrose.toml".into(),
        uptime_seconds: 100_000,
        generation: 9,
        last_reload: Some(LastReload {
            applied: false,
            seconds_ago: 125,
            error: Some("a restart is needed for: dataplane.workers: [1] → [1, 2]".into()),
        }),
        workers: Workers { count: 2, lagging: vec!["worker 1".into()] },
        rates: Some(Rates {
            received: 1200.4,
            forwarded: 1180.0,
            new_connections: 40.0,
            dropped: 20.0,
        }),
        connections: Some(Live { v4: 1_000, v6: 42, confirmed: 999, age_seconds: 31 }),
        ports: vec![PortStatus {
            name: "uplink".into(),
            device: "0000:03:00.0".into(),
            up: Some(false),
            addresses: vec!["10.0.0.2/24".into(), "2001:db8::2/64".into()],
            host_interface: Some("wr-uplink".into()),
            bond: Some(BondStatus {
                mode: "lacp".into(),
                members: vec![
                    member("0000:03:00.0", false, None),
                    member("0000:03:00.1", true, Some("02:00:00:00:00:01".into())),
                ],
            }),
        }],
        rules: vec![RuleStatus {
            name: "web-v4".into(),
            address: "203.0.113.10".into(),
            protocol: "TCP".into(),
            ports: "port 80".into(),
            service: "web".into(),
        }],
        services: services(),
        waiting_orders: vec!["backend web rack-c/c1: drained".into()],
    }
}

const STATUS: &str = "\
windrose 1.2.3, process 77, up 1 d 3 h, generation 9 of /etc/windrose/windrose.toml
last reload 2 min ago: REFUSED: a restart is needed for: dataplane.workers: [1] → [1, 2]
2 workers; STILL ON OLD TABLES: worker 1
a second: 1200 packets received, 1180 forwarded, 20 dropped; 40 new connections
connections: 1000 IPv4, 42 IPv6; 999 have seen more than one packet (counted up to 31 s ago)

PORT    LINK  ADDRESSES                    HOST INTERFACE  DEVICE
uplink  DOWN  10.0.0.2/24, 2001:db8::2/64  wr-uplink       0000:03:00.0
bond of uplink: lacp
  0000:03:00.0: link DOWN
  0000:03:00.1: link up, carries traffic, LACP with 02:00:00:00:00:01

RULE    ADDRESS       PROTOCOL  PORTS    SERVICE
web-v4  203.0.113.10  TCP       port 80  web
";

const SERVICE: &str = "
SERVICE web (native): 1 of 3 backends eligible, primary: those that can serve (E-1); 1042 connections; a second: 40.2 new connections, 1.2 k packets, 1.6 M bytes
  BACKEND    ADDRESS    ZONE  HEALTH     WEIGHT    SHARE  CONNECTIONS  NEW/S  PACKETS/S  BYTES/S  WHY
  rack-a/a1  10.1.0.11  -     healthy         1  100.0 %           21   40.2      1.2 k    1.6 M  eligible
  rack-a/a2  10.1.0.11  -     unhealthy       1    0.0 %           21      -          -        -  not eligible: unhealthy; HTTP 503
  rack-b/b1  10.1.0.11  b     drained         1    0.0 %         1000      0       10.0    998.0  drained by the operator (T-18); its connections end in 42 s
";

fn member(device: &str, up: bool, partner: Option<String>) -> BondMember {
    BondMember { device: device.into(), up, active: up, partner }
}

#[test]
fn a_bond_of_several_ports_is_told_once() {
    let mut now = status_now();
    let other = PortStatus { name: "back".into(), bond: None, ..now.ports[0].clone() };
    now.ports.push(other);
    let text = status(&now, None, Look::default());
    assert_eq!(text.matches("bond of ").count(), 1);
    assert!(text.contains("bond of uplink+back: lacp\n"), "{text}");
}

#[test]
fn status_to_the_letter() {
    let orders = "\nOrders about what the file does not name:\n  backend web rack-c/c1: drained\n";
    let now = status_now();
    assert_eq!(status(&now, None, Look::default()), format!("{STATUS}{SERVICE}{orders}"));
    assert_eq!(status(&now, Some("web"), Look::default()), SERVICE);
    let young =
        Status { connections: None, rates: None, last_reload: None, services: vec![], ..now };
    let text = status(&young, None, Look::default());
    assert!(text.contains("connections: the first count is not done\n"), "{text}");
}

#[test]
fn colours_only_where_they_are_asked_for() {
    let coloured = status(&status_now(), None, Look { colours: true });
    assert!(coloured.contains('\u{1b}'));
    let plain: String = {
        let mut inside = false;
        let keep = |c: &char| {
            inside |= *c == '\u{1b}';
            let shown = !inside;
            inside &= *c != 'm';
            shown
        };
        coloured.chars().filter(keep).collect()
    };
    let trimmed = |text: &str| text.lines().map(|l| l.trim_end().to_owned()).collect::<Vec<_>>();
    assert_eq!(trimmed(&plain), trimmed(&status(&status_now(), None, Look::default())));
}

#[test]
fn health_to_the_letter() {
    let expected = "\
SERVICE  BACKEND    ADDRESS    HEALTH     SINCE  WEIGHT  LAST CHECK
web      rack-a/a1  10.1.0.11  healthy    1 min       1  -
web      rack-a/a2  10.1.0.11  unhealthy  1 min       1  HTTP 503
web      rack-b/b1  10.1.0.11  drained    1 min       1  -
";
    assert_eq!(health(&services(), false, Look::default()), expected);
    assert_eq!(health(&services(), true, Look::default()).lines().count(), 3);
    assert_eq!(health(&[], true, Look::default()), "Every backend is healthy.\n");
    assert_eq!(health(&[], false, Look::default()), "There is no backend.\n");
}

#[test]
fn connections_to_the_letter() {
    let known = |client: &str, port, vip: Option<&str>| Connection {
        service: "web".into(),
        backend: "rack-a/a1".into(),
        protocol: Some("tcp".into()),
        client: client.into(),
        client_port: port,
        vip: vip.map(str::to_owned),
        vip_port: port,
        idle_seconds: 1.25,
        confirmed: port.is_some(),
    };
    let listed = ConnectionList {
        connections: vec![
            known("198.51.100.7", Some(443), Some("203.0.113.10")),
            known("2001:db8::7", Some(443), Some("2001:db8::10")),
            known("198.51.100.9", None, None),
        ],
        matched: 4,
        took_seconds: 0.26,
    };
    let expected = "\
PROTOCOL  CLIENT             VIP                 SERVICE  BACKEND     IDLE  PACKETS
tcp       198.51.100.7:443   203.0.113.10:443    web      rack-a/a1  1.2 s  several
tcp       [2001:db8::7]:443  [2001:db8::10]:443  web      rack-a/a1  1.2 s  several
tcp       198.51.100.9       -                   web      rack-a/a1  1.2 s  one
4 connections; the first 3 are shown (--limit); the table was walked through in 0.3 s: what came or went meanwhile may be missing
";
    assert_eq!(list(&listed, Look::default()), expected);
}

#[test]
fn counts_to_the_letter() {
    let one = Counted {
        service: Some("web".into()),
        backend: Some("rack-a/a1".into()),
        client: None,
        connections: 1,
    };
    let counts = ConnectionCount {
        by: By::Backend,
        counts: vec![one],
        others: 2,
        matched: 3,
        took_seconds: 0.0,
    };
    let expected = "\
SERVICE  BACKEND    CONNECTIONS
web      rack-a/a1            1
3 connections; 2 of them of others, not shown (--limit); the table was walked through in 0.0 s: what came or went meanwhile may be missing
";
    assert_eq!(count(&counts, Look::default()), expected);
}

/// A service whose first backend was given so many packets but a hundred.
fn given(packets: u64) -> ServiceCounts {
    let given = |packets, new_connections| Given { packets, bytes: 100 * packets, new_connections };
    let backend = |name: &str, given| BackendCounts {
        backend: name.into(),
        address: "10.1.0.11".into(),
        given,
    };
    ServiceCounts {
        name: "web".into(),
        given: given(packets, 42),
        backends: vec![
            backend("rack-a/a1", given(packets - 100, 42)),
            backend("rack-a/a2", given(100, 0)),
            backend("rack-b/b1", Given::default()),
        ],
    }
}

#[test]
fn counters_have_rates_since_an_earlier_reading() {
    let counts = |forwarded: u64| Counts {
        outcomes: [("forwarded".into(), forwarded), ("no_buffer".into(), 0)].into(),
        events: [("received".into(), forwarded)].into(),
        held: 1,
    };
    let reading = |forwarded| CountersNow {
        total: counts(forwarded),
        services: vec![given(forwarded)],
        ..CountersNow::default()
    };
    let (before, now) = (reading(100), reading(1_100));
    let shown = Shown { since: Some((&before, 2.0)), ..Shown::default() };
    let expected = "\
OUTCOME    TOTAL  A SECOND
forwarded   1100     500.0

EVENT     TOTAL  A SECOND
received   1100     500.0

1101 received = outcomes + 1 held

SERVICE  BACKEND    PACKETS  A SECOND   BYTES  A SECOND  NEW CONNECTIONS  A SECOND
web      (all)         1100     500.0  110000   50000.0               42       0.0
web      rack-a/a1     1000     500.0  100000   50000.0               42       0.0
web      rack-a/a2      100       0.0   10000       0.0                0       0.0
";
    assert_eq!(counters(&now, shown, Look::default()), expected);
    let all = counters(&now, Shown { all: true, ..shown }, Look::default());
    assert!(all.contains("no_buffer") && all.contains("rack-b/b1"), "{all}");
}

#[test]
fn rates_are_brief() {
    let cases = [(0.0, "0"), (0.04, "0.0"), (999.94, "999.9"), (1e3, "1.0 k"), (3.4e8, "340.0 M")];
    for (rate, said) in cases {
        assert_eq!(brief(rate), said);
    }
}

#[test]
fn spans_are_as_people_say_them() {
    let cases =
        [(0, "0 s"), (59, "59 s"), (60, "1 min"), (3_600, "1 h 0 min"), (90_000, "1 d 1 h")];
    for (seconds, said) in cases {
        assert_eq!(span(seconds), said);
    }
}
