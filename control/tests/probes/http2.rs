//! HTTP/2 by ALPN and by prior knowledge, and gRPC.

use control::health::Question;
use control::model::CheckProtocol::{Grpc, Http2};

use super::server::{Second, acceptor, http2, read_head, send, serve, silence};
use super::{ask, question, said, weight};

async fn plain(what: Second) -> Question {
    let port = serve(move |stream| http2(stream, what)).await;
    let mut question = question(Http2, port);
    question.ask.tls = false;
    question
}

async fn in_tls(alpn: &'static [&'static [u8]], what: Second) -> Question {
    let acceptor = acceptor(alpn);
    let serve = serve(move |stream| {
        let acceptor = acceptor.clone();
        async move {
            if let Ok(stream) = acceptor.accept(stream).await {
                http2(stream, what).await;
            }
        }
    });
    question(Http2, serve.await)
}

async fn grpc(message: &'static [u8], status: &'static str) -> Question {
    let port = serve(move |stream| http2(stream, Second::Grpc(message, status))).await;
    Question { ..question(Grpc, port) }
}

#[tokio::test]
async fn http2_answers_by_prior_knowledge_and_by_alpn() {
    for (name, question, expected) in [
        ("plain", plain(Second::Answer(200, "5")).await, ("HTTP 200", "5")),
        ("TLS", in_tls(&[b"h2"], Second::Answer(200, "6")).await, ("HTTP 200", "6")),
        ("503", plain(Second::Answer(503, "0")).await, ("HTTP 503", "0")),
        ("redirect", plain(Second::Answer(301, "7")).await, ("HTTP 301", "7")),
        ("a body without end", plain(Second::Endless).await, ("HTTP 200", "none")),
        ("a long head", plain(Second::Head(100)).await, ("HTTP 200", "none")),
        ("GOAWAY, NO_ERROR", plain(Second::AnswerAndGoAway).await, ("HTTP 200", "7")),
    ] {
        let report = ask(question).await;
        assert_eq!((said(&report).as_str(), weight(&report).as_str()), expected, "{name}");
    }
}

#[tokio::test]
async fn http2_says_how_it_failed() {
    let http1 = serve(|mut stream| async move {
        read_head(&mut stream).await;
        send(&mut stream, b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n").await;
        silence().await;
    })
    .await;
    let mut at_http1 = question(Http2, http1);
    at_http1.ask.tls = false;
    for (name, question, expected) in [
        ("at an HTTP/1 port", at_http1, "not HTTP/2: "),
        (
            "GOAWAY without an answer",
            plain(Second::GoAway).await,
            "the connection was closed in the wait for the response",
        ),
        ("reset in the answer", plain(Second::AnswerAndReset).await, ""),
        ("a head without bound", plain(Second::Head(2_000)).await, ""),
        ("no answer", plain(Second::Nothing).await, "timeout after 700ms in "),
        (
            "TLS without ALPN",
            in_tls(&[], Second::Answer(200, "6")).await,
            "the server did not choose HTTP/2",
        ),
    ] {
        let report = ask(question).await;
        println!("{name}: {}", said(&report));
        assert!(report.answer.is_err(), "{name}: {}", said(&report));
        assert!(said(&report).starts_with(expected), "{name}: {}", said(&report));
        assert_eq!(weight(&report), "", "{name}");
    }
}

#[tokio::test]
async fn grpc_health_serves_or_says_why_not() {
    // A message of two bytes: field 1, the status.
    for (name, question, expected) in [
        ("serving", grpc(&[0, 0, 0, 0, 2, 8, 1], "0").await, "gRPC SERVING"),
        ("not serving", grpc(&[0, 0, 0, 0, 2, 8, 2], "0").await, "gRPC NOT_SERVING"),
        ("unknown service", grpc(&[], "5").await, "gRPC status NotFound"),
        ("no such method", grpc(&[], "12").await, "gRPC status Unimplemented"),
    ] {
        assert_eq!(said(&ask(question).await), expected, "{name}");
    }
    for (service, expected) in [("shop", "gRPC SERVING"), ("", "gRPC status NotFound")] {
        let mut of = plain(Second::GrpcOf("shop")).await;
        (of.ask.protocol, of.ask.grpc_service) = (Grpc, service.into());
        assert_eq!(said(&ask(of).await), expected, "{service}");
    }
    let mut silent = plain(Second::Nothing).await;
    silent.ask.protocol = Grpc;
    assert!(said(&ask(silent).await).starts_with("timeout after 700ms"));
    let mut gone = plain(Second::GoAway).await;
    gone.ask.protocol = Grpc;
    assert_eq!(said(&ask(gone).await), "the connection was closed in the wait for the response");
}
