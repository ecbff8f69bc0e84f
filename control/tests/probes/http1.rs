//! HTTP and HTTPS.

use control::model::CheckProtocol::{Http, Https};
use tokio::io::AsyncReadExt;

use super::server::{acceptor, answers, answers_and_closes, read_head, send, serve, silence};
use super::{ask, question, said, weight};

#[tokio::test]
async fn what_a_whole_response_says_is_what_counts() {
    for (name, response, expected, header) in [
        ("keep-alive", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "HTTP 200", "none"),
        ("content-length 0", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "HTTP 200", "none"),
        (
            "chunked",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
            "HTTP 200",
            "none",
        ),
        ("HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", "HTTP 200", "none"),
        (
            "redirect",
            "HTTP/1.1 301 M\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n",
            "HTTP 301",
            "none",
        ),
        ("no content", "HTTP/1.1 204 N\r\n\r\n", "HTTP 204", "none"),
        (
            "a weight",
            "HTTP/1.1 200 OK\r\nX-Load-Balancing-Endpoint-Weight: 7\r\nContent-Length: 0\r\n\r\n",
            "HTTP 200",
            "7",
        ),
        (
            "W-1: a 503 that says 0 counts",
            "HTTP/1.1 503 S\r\nx-load-balancing-endpoint-weight: 0\r\nContent-Length: 0\r\n\r\n",
            "HTTP 503",
            "0",
        ),
        (
            "two weights are none",
            "HTTP/1.1 200 OK\r\nx-load-balancing-endpoint-weight: 1\r\nx-load-balancing-endpoint-weight: 2\r\nContent-Length: 0\r\n\r\n",
            "HTTP 200",
            "1,2",
        ),
        (
            "interim responses come before the one that counts",
            "HTTP/1.1 103 E\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
            "HTTP 200",
            "none",
        ),
    ] {
        let report = ask(question(Http, answers(response.as_bytes()).await)).await;
        assert_eq!(
            (said(&report).as_str(), weight(&report).as_str()),
            (expected, header),
            "{name}"
        );
    }
}

#[tokio::test]
async fn a_body_that_ends_with_the_connection_is_whole_and_one_that_is_cut_is_not() {
    for (name, response, expected) in [
        ("HTTP/1.0 without a length", "HTTP/1.0 200 OK\r\n\r\nok", "HTTP 200"),
        (
            "cut",
            "HTTP/1.1 200 OK\r\nX-Load-Balancing-Endpoint-Weight: 7\r\nContent-Length: 9\r\n\r\nok",
            "the connection was closed in the response's body",
        ),
        ("nothing", "", "the connection was closed in the wait for the response"),
        (
            "half a head",
            "HTTP/1.1 200 OK\r\nContent-",
            "the connection was closed in the wait for the response",
        ),
    ] {
        let report = ask(question(Http, answers_and_closes(response.as_bytes()).await)).await;
        assert_eq!(said(&report), expected, "{name}");
        assert_ne!(weight(&report), "7", "{name}: an incomplete response says nothing");
    }
}

#[tokio::test]
async fn what_is_no_http_is_said_to_be_none() {
    let many: &'static str = Box::leak(
        format!("HTTP/1.1 200 OK\r\n{}\r\n", "X-Filler: aaaaaaaaaaaaaaaa\r\n".repeat(4000)).into(),
    );
    for (name, response) in [
        ("no head at all", "SSH-2.0-OpenSSH_9.2\r\n\r\n"),
        ("a body without a head", "ok\n"),
        ("bytes", "\0\u{1}\u{7f}\0\r\n\r\n"),
        ("a status that is no number", "HTTP/1.1 abc OK\r\n\r\n"),
        ("a head without end", many),
    ] {
        let report = ask(question(Http, answers(response.as_bytes()).await)).await;
        assert!(said(&report).starts_with("not HTTP/1: "), "{name}: {}", said(&report));
    }
}

#[tokio::test]
async fn a_body_without_end_is_read_so_far_and_the_status_counts() {
    let port = serve(|mut stream| async move {
        read_head(&mut stream).await;
        send(&mut stream, b"HTTP/1.1 200 OK\r\n\r\n").await;
        while send(&mut stream, &[b'x'; 4096]).await {}
    })
    .await;
    assert_eq!(said(&ask(question(Http, port)).await), "HTTP 200");
}

#[tokio::test]
async fn every_step_ends_with_the_probes_time() {
    let drip = |bytes: &'static [u8]| {
        serve(move |mut stream| async move {
            read_head(&mut stream).await;
            for byte in bytes.chunks(1).chain(std::iter::repeat(&b"x"[..])) {
                if !send(&mut stream, byte).await {
                    break;
                }
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        })
    };
    let silent = serve(|stream| async move {
        silence().await;
        drop(stream);
    })
    .await;
    let body = serve(|mut stream| async move {
        read_head(&mut stream).await;
        send(&mut stream, b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok").await;
        silence().await;
    })
    .await;
    for (name, question, expected) in [
        ("nothing", question(Http, silent), "the wait for the response"),
        (
            "slow head",
            question(Http, drip(b"HTTP/1.1 200 OK\r\nX: ").await),
            "the wait for the response",
        ),
        ("slow body", question(Http, body), "the response's body"),
        ("no TLS", question(Https, silent), "TLS handshake"),
    ] {
        let report = ask(question).await;
        assert_eq!(said(&report), format!("timeout after 700ms in {expected}"), "{name}");
        assert_eq!(weight(&report), "", "{name}");
    }
}

#[tokio::test]
async fn a_reset_after_the_whole_response_changes_nothing() {
    let port = serve(|mut stream| async move {
        read_head(&mut stream).await;
        send(&mut stream, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
        stream.set_zero_linger().expect("a TCP socket");
    })
    .await;
    assert_eq!(said(&ask(question(Http, port)).await), "HTTP 200");
}

#[tokio::test]
async fn a_connection_that_nobody_takes_ends_with_the_probes_time() {
    // Its queue has room for one, and then the kernel takes no more first packets.
    let full = tokio::net::TcpSocket::new_v4().expect("a socket");
    full.bind(std::net::SocketAddr::from(([127, 0, 0, 1], 0))).expect("binds");
    let listener = full.listen(0).expect("listens");
    let address = listener.local_addr().expect("bound");
    let waits = [(); 4].map(|()| tokio::spawn(tokio::net::TcpStream::connect(address)));
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    let report = ask(question(Http, address.port())).await;
    assert_eq!(said(&report), "timeout after 700ms in TCP connect");
    waits.iter().for_each(tokio::task::JoinHandle::abort);
}

#[tokio::test]
async fn a_closed_port_refuses() {
    let port = serve(|_| async {}).await;
    let free = port.checked_sub(1).expect("not the first");
    let report = ask(question(Http, free)).await;
    assert!(["connection refused", "HTTP"].iter().any(|w| said(&report).starts_with(w)));
}

#[tokio::test]
async fn the_request_asks_for_the_path_at_the_host_and_for_the_end_of_the_connection() {
    let (told, mut heard) = tokio::sync::mpsc::channel(1);
    let port = serve(move |mut stream| {
        let told = told.clone();
        async move {
            let head = read_head(&mut stream).await;
            told.send(head).await.expect("the test waits");
            send(&mut stream, b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
            // The prober closes.
            drop(stream.read_u8().await);
        }
    })
    .await;
    ask(question(Http, port)).await;
    let head = String::from_utf8(heard.recv().await.expect("a request")).expect("text");
    assert!(head.starts_with("GET /health HTTP/1.1\r\n"), "{head}");
    for line in ["host: web.example", "connection: close"] {
        assert!(head.to_lowercase().contains(line), "{line} in {head}");
    }
}

#[tokio::test]
async fn https_takes_any_certificate_and_says_what_is_wrong_with_tls() {
    let good = acceptor(&[b"http/1.1"]);
    let port = serve(move |stream| {
        let good = good.clone();
        async move {
            let mut stream = good.accept(stream).await.expect("a handshake");
            read_head(&mut stream).await;
            send(&mut stream, b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
            silence().await;
        }
    })
    .await;
    assert_eq!(said(&ask(question(Https, port)).await), "HTTP 200", "expired, for another name");

    let plain = serve(|mut stream| async move {
        send(&mut stream, b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
        silence().await;
    })
    .await;
    let report = ask(question(Https, plain)).await;
    assert!(said(&report).starts_with("TLS: "), "{}", said(&report));
    let closes = serve(|_| async {}).await;
    let report = ask(question(Https, closes)).await;
    assert_eq!(said(&report), "the connection was closed in TLS handshake");
}

/// Old servers, and scripts behind a super-server, that every client gets on with.
#[tokio::test]
async fn what_clients_put_up_with_is_no_reason_to_take_a_server_out() {
    for (name, head) in [
        ("bare line feeds", &b"200 OK\n"[..]),
        ("no reason", b"200\r\n"),
        ("a reason in Latin-1", b"200 d\xe9j\xe0\r\n"),
        ("a value in Latin-1", b"200 OK\r\nServer: \xe9\r\n"),
        ("a space before the colon", b"200 OK\r\nServer : x\r\n"),
        ("a folded line", b"200 OK\r\nServer: x\r\n y\r\n"),
        ("a line that is no field", b"200 OK\r\nno field\r\n"),
        ("a field without a name", b"200 OK\r\n: x\r\n"),
        ("the same length twice", b"200 OK\r\nContent-Length: 2\r\n"),
    ] {
        let rest = b"X-Load-Balancing-Endpoint-Weight: 7\r\nContent-Length: 2\r\n\r\nok";
        let response: &'static [u8] = [b"HTTP/1.1 ", head, rest].concat().leak();
        let report = ask(question(Http, answers(response).await)).await;
        assert_eq!((said(&report), weight(&report)), ("HTTP 200".into(), "7".into()), "{name}");
    }
}

/// Closing what was not read is a reset: an answer that does not say where it ends is then cut.
#[tokio::test]
async fn a_server_that_does_not_read_the_request_is_believed_if_it_says_how_much_it_sends() {
    for (response, expected) in [
        (&b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"[..], "HTTP 200"),
        (b"HTTP/1.1 200 OK\r\n\r\nok", "the connection was closed in the response's body"),
    ] {
        let port = serve(move |mut stream| async move {
            stream.peek(&mut [0]).await.expect("a request");
            send(&mut stream, response).await;
        })
        .await;
        assert_eq!(said(&ask(question(Http, port)).await), expected);
    }
}
