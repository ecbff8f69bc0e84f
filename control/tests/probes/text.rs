//! TCP and SSL.

use control::health::Question;
use control::model::CheckProtocol::{Ssl, Tcp};
use tokio::io::AsyncReadExt;

use super::server::{acceptor, send, serve, silence};
use super::{ask, question, said};

fn with(mut question: Question, send: &str, expect: &str) -> Question {
    question.ask.send = send.into();
    question.ask.expect = expect.into();
    question
}

/// Greets, and answers `PING` with `PONG`.
async fn pongs() -> u16 {
    serve(|mut stream| async move {
        let mut asked = [0; 4];
        if stream.read_exact(&mut asked).await.is_ok() && asked == *b"PING" {
            send(&mut stream, b"PO").await;
            send(&mut stream, b"NG and more").await;
        }
        silence().await;
    })
    .await
}

#[tokio::test]
async fn tcp_connects_and_compares_what_is_expected() {
    let port = pongs().await;
    let closes = serve(|_| async {}).await;
    let tcp = |send, expect| with(question(Tcp, port), send, expect);
    for (name, question, expected) in [
        ("connect", tcp("", ""), "connected"),
        ("exchange", tcp("PING", "PONG"), "the expected answer"),
        (
            "other bytes",
            tcp("PING", "PUNG"),
            "the answer does not begin with what is expected, but with \"PO",
        ),
        ("no answer", tcp("PUNG", "PONG"), "timeout after 700ms in the wait for the response"),
        (
            "closed",
            with(question(Tcp, closes), "", "PONG"),
            "the connection was closed in the wait for the response",
        ),
    ] {
        let answer = said(&ask(question).await);
        assert!(answer.starts_with(expected), "{name}: {answer}");
    }
}

#[tokio::test]
async fn ssl_shakes_hands_with_any_certificate() {
    let acceptor = acceptor(&[]);
    let port = serve(move |stream| {
        let acceptor = acceptor.clone();
        async move {
            if let Ok(mut stream) = acceptor.accept(stream).await {
                send(&mut stream, b"220 ready").await;
                silence().await;
            }
        }
    })
    .await;
    assert_eq!(said(&ask(question(Ssl, port)).await), "TLS handshake done");
    let greeted = with(question(Ssl, port), "", "220");
    assert_eq!(said(&ask(greeted).await), "the expected answer");
}
