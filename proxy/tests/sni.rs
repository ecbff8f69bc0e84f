//! TLS routes beyond the conformance cases: what is refused, and the borders of matching.

use proxy::sni::{Close, Opening, RouteError, RouteTable, Target, TlsRoute};

fn route(name: &str, sni: &[&str]) -> TlsRoute {
    TlsRoute {
        name: name.into(),
        sni: sni.iter().map(|s| s.to_string()).collect(),
        services: vec![format!("svc-{name}")],
    }
}

fn errors(routes: Vec<TlsRoute>) -> Vec<String> {
    RouteTable::new(routes).expect_err("refused").iter().map(RouteError::to_string).collect()
}

#[test]
fn an_exact_name_goes_before_a_wildcard_and_a_near_wildcard_before_a_far_one() {
    let table = RouteTable::new(vec![
        route("far", &["*.com"]),
        route("near", &["*.foo.com"]),
        route("exact", &["a.foo.com", "foo.com"]),
    ])
    .expect("valid");
    for (host, taken) in [
        ("a.foo.com", "exact"),
        ("foo.com", "exact"),
        ("A.FOO.com", "exact"),
        ("x.a.foo.com", "near"),
        ("xa.foo.com", "near"),
        ("xfoo.com", "far"),
    ] {
        let found = table.route(Opening::Sni(host.as_bytes())).expect(host);
        assert_eq!(found.route.name, taken, "{host}");
    }
    assert_eq!(table.route(Opening::Sni(b"com")), Err(Close::NoRoute));
    assert_eq!(table.route(Opening::Sni(b"a.foo.com.")), Err(Close::InvalidName));
}

#[test]
fn a_wildcard_and_the_same_exact_name_are_two_names() {
    let table = RouteTable::new(vec![route("a", &["*.foo.com"]), route("b", &["foo.com"])]);
    assert!(table.is_ok());
}

#[test]
fn the_same_sni_twice_is_refused_whatever_its_letter_case() {
    let expected = ["route b: \"*.FOO.com\" is already taken by route a"];
    assert_eq!(errors(vec![route("a", &["*.foo.com"]), route("b", &["*.FOO.com"])]), expected);
    let expected = ["route a: \"x.foo\" is already taken by route a"];
    assert_eq!(errors(vec![route("a", &["x.foo", "x.foo"])]), expected);
}

#[test]
fn every_error_of_the_routes_is_told_at_once() {
    let bad = ["*", "*.", "a.*.b", "f*.com", "**.a", "*.*.a", "a.", "", "192.0.2.1", "a b"];
    let mut empty = route("empty", &["ok.example"]);
    empty.services.clear();
    let errors = errors(vec![route("bad", &bad), empty]);
    assert_eq!(errors.len(), bad.len() + 1);
    for (error, sni) in errors.iter().zip(bad) {
        let expected =
            format!("route bad: {sni:?} is neither a host name nor \"*.\" and a host name");
        assert_eq!(*error, expected);
    }
    assert_eq!(errors.last().map(String::as_str), Some("route empty names no service"));
}

#[test]
fn only_tls_routes_read_a_client_hello() {
    assert!(!Target::Service("only".into()).reads_hello());
    assert!(Target::Routes(RouteTable::default()).reads_hello());
    let one = Target::Service("only".into());
    assert_eq!(one.services(Opening::NotTls), Ok(&["only".to_owned()][..]));
}
