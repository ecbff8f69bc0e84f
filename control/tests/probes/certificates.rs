//! `tls_ca`: whose certificates are taken, and what is said of the others.
//!
//! `authority.pem` has signed `vouched.pem` (web.example, 127.0.0.1; until 2120) and `expired.pem`
//! (web.example; January 2020). Nobody has signed `certificate.pem`.

use std::sync::Arc;

use control::health::Question;
use control::model::Authorities;
use control::model::CheckProtocol::{Grpc, Http2, Https, Ssl};

use super::server::{Second, acceptor_with, http2, read_head, send, serve, silence};
use super::{ask, question, said};

const AUTHORITY: &str = include_str!("authority.pem");
const VOUCHED: &str = include_str!("vouched.pem");
const EXPIRED: &str = include_str!("expired.pem");
const NOBODYS: &str = include_str!("certificate.pem");

/// With these authorities, and for a host.
fn vouched_for(mut question: Question, authorities: &str, host: &str) -> Question {
    let read = Authorities::from_pem("/etc/windrose/ca.pem", authorities);
    question.ask.tls_ca = Some(Arc::new(read.expect("PEM")));
    question.ask.host = host.into();
    question.ask.tls = true;
    question
}

/// Answers HTTP/1 with this certificate.
async fn web(certificate: &'static str) -> u16 {
    let acceptor = acceptor_with(certificate.as_bytes(), &[b"http/1.1"]);
    serve(move |stream| {
        let acceptor = acceptor.clone();
        async move {
            let Ok(mut stream) = acceptor.accept(stream).await else { return };
            read_head(&mut stream).await;
            send(&mut stream, b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
            silence().await;
        }
    })
    .await
}

/// The same in HTTP/2, and as gRPC's health service.
async fn second(certificate: &'static str, what: Second) -> u16 {
    let acceptor = acceptor_with(certificate.as_bytes(), &[b"h2"]);
    serve(move |stream| {
        let acceptor = acceptor.clone();
        async move {
            if let Ok(stream) = acceptor.accept(stream).await {
                http2(stream, what).await;
            }
        }
    })
    .await
}

#[tokio::test]
async fn a_certificate_that_is_not_vouched_for_is_a_failure_with_its_reason() {
    for (name, certificate, authorities, host, expected) in [
        ("by name", VOUCHED, AUTHORITY, "web.example", "HTTP 200"),
        ("by name with a port", VOUCHED, AUTHORITY, "web.example:8443", "HTTP 200"),
        ("by address", VOUCHED, AUTHORITY, "", "HTTP 200"),
        ("one of several", VOUCHED, &format!("{NOBODYS}\n{AUTHORITY}"), "web.example", "HTTP 200"),
        (
            "of another name",
            VOUCHED,
            AUTHORITY,
            "shop.example",
            "certificate: it is not for shop.example, but for [",
        ),
        ("of no address", EXPIRED, AUTHORITY, "", "certificate: it "),
        ("expired", EXPIRED, AUTHORITY, "web.example", "certificate: it has expired"),
        (
            "of somebody else",
            VOUCHED,
            NOBODYS,
            "web.example",
            "certificate: no authority of tls_ca vouches for it",
        ),
        (
            "of nobody",
            NOBODYS,
            AUTHORITY,
            "other.example",
            "certificate: it is an authority's own, not a server's",
        ),
    ] {
        let asked = vouched_for(question(Https, web(certificate).await), authorities, host);
        let answer = said(&ask(asked).await);
        assert!(answer.starts_with(expected), "{name}: {answer}");
    }
}

#[tokio::test]
async fn every_protocol_inside_tls_looks_at_the_certificate() {
    let grpc = Second::Grpc(&[0, 0, 0, 0, 2, 8, 1], "0");
    for (certificate, said_of) in [(VOUCHED, None), (EXPIRED, Some("certificate: it has expired"))]
    {
        for (asked, good) in [
            (question(Ssl, web(certificate).await), "TLS handshake done"),
            (question(Http2, second(certificate, Second::Answer(200, "1")).await), "HTTP 200"),
            (question(Grpc, second(certificate, grpc).await), "gRPC SERVING"),
        ] {
            let protocol = asked.ask.protocol;
            let answer = said(&ask(vouched_for(asked, AUTHORITY, "web.example")).await);
            assert_eq!(answer, said_of.unwrap_or(good), "{protocol:?}");
        }
    }
}

#[tokio::test]
async fn without_tls_ca_every_certificate_will_do() {
    for certificate in [VOUCHED, EXPIRED, NOBODYS] {
        assert_eq!(said(&ask(question(Https, web(certificate).await)).await), "HTTP 200");
    }
}

#[test]
fn what_is_no_file_of_certificates_is_said_to_be_none() {
    let broken = VOUCHED.replacen("MI", "AA", 1);
    for (text, expected) in [
        ("", "it has no certificate"),
        (include_str!("key.pem"), "it has no certificate"),
        (
            "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n",
            "its certificate 1 is broken",
        ),
        (
            &AUTHORITY[..200],
            "its certificate 1 is broken: the line \"-----END CERTIFICATE-----\" is missing",
        ),
        (&*format!("{AUTHORITY}{broken}"), "its certificate 2 is broken"),
    ] {
        let error = Authorities::from_pem("/ca.pem", text).expect_err("refused");
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn other_certificates_under_the_same_name_are_another_question() {
    let with = |authorities| vouched_for(question(Https, 443), authorities, "web.example");
    assert_eq!(with(AUTHORITY), with(AUTHORITY));
    assert_ne!(with(AUTHORITY), with(NOBODYS));
}
