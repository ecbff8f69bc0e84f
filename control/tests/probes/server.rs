//! Servers that do what a test says, byte by byte.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// What a test needs of a connection, plain or inside TLS.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send + 'static> Stream for T {}

/// Serves every connection with a script; the port.
pub(crate) async fn serve<F>(script: impl Fn(TcpStream) -> F + Send + 'static) -> u16
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("binds");
    let port = listener.local_addr().expect("bound").port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(script(stream));
        }
    });
    port
}

/// Reads a request's head, then sends these bytes, and keeps the connection open.
pub(crate) async fn answers(bytes: &'static [u8]) -> u16 {
    serve(move |mut stream| async move {
        read_head(&mut stream).await;
        send(&mut stream, bytes).await;
        silence().await;
        drop(stream);
    })
    .await
}

/// The same, and closes.
pub(crate) async fn answers_and_closes(bytes: &'static [u8]) -> u16 {
    serve(move |mut stream| async move {
        read_head(&mut stream).await;
        send(&mut stream, bytes).await;
    })
    .await
}

pub(crate) async fn read_head(stream: &mut impl Stream) -> Vec<u8> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => break,
        }
    }
    head
}

/// The other side may have gone.
pub(crate) async fn send(stream: &mut impl Stream, bytes: &[u8]) -> bool {
    stream.write_all(bytes).await.is_ok() && stream.flush().await.is_ok()
}

/// Longer than any test.
pub(crate) async fn silence() {
    tokio::time::sleep(Duration::from_secs(60)).await;
}

/// A certificate that nobody signed, for another name.
const NOBODYS: &[u8] = include_bytes!("certificate.pem");

/// TLS with a certificate that nobody vouches for.
pub(crate) fn acceptor(alpn: &[&[u8]]) -> TlsAcceptor {
    acceptor_with(NOBODYS, alpn)
}

/// TLS with this certificate, whose key is that of all of them here.
pub(crate) fn acceptor_with(certificate: &[u8], alpn: &[&[u8]]) -> TlsAcceptor {
    let certificate = CertificateDer::from_pem_slice(certificate);
    let key = PrivateKeyDer::from_pem_slice(include_bytes!("key.pem"));
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().expect("versions");
    let mut config = builder
        .with_no_client_auth()
        .with_single_cert(vec![certificate.expect("PEM")], key.expect("PEM"))
        .expect("a certificate and its key");
    config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
    TlsAcceptor::from(Arc::new(config))
}

/// What an HTTP/2 server does with its first request.
#[derive(Clone, Copy)]
pub(crate) enum Second {
    /// Answers with this status and this weight.
    Answer(u16, &'static str),
    /// Answers, and says that it will take no more: GOAWAY, NO_ERROR.
    AnswerAndGoAway,
    /// Says only that.
    GoAway,
    /// Answers as gRPC with these bytes and this gRPC status.
    Grpc(&'static [u8], &'static str),
    /// Answers as gRPC that it serves, if it is asked about this service.
    GrpcOf(&'static str),
    /// Answers 200, and a body that does not end.
    Endless,
    /// Answers with a head of so many fields of 32 bytes.
    Head(usize),
    /// Answers, and takes the answer back before its end: RST_STREAM.
    AnswerAndReset,
    /// Says nothing.
    Nothing,
}

/// Serves HTTP/2 on one connection.
pub(crate) async fn http2(stream: impl Stream, what: Second) {
    let Ok(mut connection) = h2::server::handshake(stream).await else { return };
    while let Some(Ok((request, respond))) = connection.accept().await {
        assert!(request.uri().scheme_str().is_some(), "{request:?}");
        let mut respond = respond;
        match what {
            Second::GoAway => connection.abrupt_shutdown(h2::Reason::NO_ERROR),
            Second::AnswerAndGoAway => {
                connection.graceful_shutdown();
                answer(respond, 200, "7");
            }
            Second::Answer(status, weight) => answer(respond, status, weight),
            Second::Grpc(message, status) => grpc(respond, message, status),
            Second::GrpcOf(service) => drop(tokio::spawn(grpc_of(request, respond, service))),
            Second::Endless => drop(tokio::spawn(endless(respond))),
            Second::Head(fields) => head(respond, fields),
            Second::AnswerAndReset => {
                let mut body =
                    respond.send_response(hyper::Response::new(()), false).expect("it listens");
                body.send_reset(h2::Reason::INTERNAL_ERROR);
            }
            Second::Nothing => {
                std::mem::forget(respond);
            }
        }
    }
}

fn answer(mut respond: h2::server::SendResponse<Bytes>, status: u16, weight: &str) {
    let response = hyper::Response::builder()
        .status(status)
        .header("x-load-balancing-endpoint-weight", weight)
        .body(())
        .expect("a response");
    let mut body = respond.send_response(response, false).expect("it listens");
    body.send_data(Bytes::from_static(b"ok"), true).expect("it listens");
}

fn grpc(mut respond: h2::server::SendResponse<Bytes>, message: &'static [u8], status: &str) {
    let response = hyper::Response::builder().header("content-type", "application/grpc");
    let response = response.body(()).expect("a response");
    let mut body = respond.send_response(response, false).expect("it listens");
    body.send_data(Bytes::from_static(message), false).expect("it listens");
    let mut trailers = hyper::HeaderMap::new();
    trailers.insert("grpc-status", status.parse().expect("a number"));
    body.send_trailers(trailers).expect("it listens");
}

/// A message of gRPC has five bytes before it; of a health request the first field is the service's
/// name, with two bytes before it.
async fn grpc_of(
    request: hyper::Request<h2::RecvStream>,
    respond: h2::server::SendResponse<Bytes>,
    service: &str,
) {
    let mut asked = Vec::new();
    let mut body = request.into_body();
    while let Some(Ok(bytes)) = body.data().await {
        asked.extend_from_slice(&bytes);
    }
    match asked.get(7..) == Some(service.as_bytes()) {
        true => grpc(respond, &[0, 0, 0, 0, 2, 8, 1], "0"),
        false => grpc(respond, &[], "5"),
    }
}

async fn endless(mut respond: h2::server::SendResponse<Bytes>) {
    let mut body = respond.send_response(hyper::Response::new(()), false).expect("it listens");
    while body.send_data(Bytes::from_static(&[b'x'; 1024]), false).is_ok() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

fn head(mut respond: h2::server::SendResponse<Bytes>, fields: usize) {
    let mut response = hyper::Response::new(());
    for number in 0..fields {
        let name = hyper::header::HeaderName::try_from(format!("x-filler-{number:07}"));
        let value = hyper::header::HeaderValue::from_static("aaaaaaaaaaaaaaaa");
        response.headers_mut().insert(name.expect("a name"), value);
    }
    let _ = respond.send_response(response, true);
}
