//! HTTP/1 and HTTP/2.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;

use http_body_util::{BodyExt, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::{http1, http2};
use hyper::header::{CONNECTION, HOST, HeaderMap, USER_AGENT};
use hyper::http::uri::{PathAndQuery, Scheme};
use hyper::rt::Executor;
use hyper::{Request, Uri};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use tokio::task::JoinSet;

use super::deadline::Deadline;
use super::{Answer, MOST_BODY, MOST_HEAD, Stream};
use crate::health::question::Question;
use crate::health::report::{Reason, Response, Step};
use crate::policy::weights;

const MOST_HEADERS: usize = 128;
const AGENT: &str = concat!("windrose-check/", env!("CARGO_PKG_VERSION"));

/// The host of the file; else the address, with the port where it is not the scheme's own.
pub(super) fn authority(question: &Question, to: SocketAddr) -> String {
    let own_port = if question.ask.tls { 443 } else { 80 };
    match (question.ask.host.as_str(), to) {
        ("", SocketAddr::V4(to)) if to.port() == own_port => to.ip().to_string(),
        ("", SocketAddr::V6(to)) if to.port() == own_port => format!("[{}]", to.ip()),
        ("", to) => to.to_string(),
        (host, _) => host.to_owned(),
    }
}

/// HTTP/1.1; an answer in HTTP/1.0 will do.
pub(super) async fn one(
    stream: impl Stream,
    question: &Question,
    authority: &str,
    deadline: Deadline,
) -> Answer {
    let request = Request::get(question.ask.path.as_str())
        .header(HOST, authority)
        .header(CONNECTION, "close")
        .header(USER_AGENT, AGENT)
        .body(Empty::<Bytes>::new())
        .map_err(|error| local(&error))?;
    let mut client = http1::Builder::new();
    client.max_headers(MOST_HEADERS).max_buf_size(MOST_HEAD);
    // What clients put up with is no reason to take a server away from them.
    client
        .allow_spaces_after_header_name_in_responses(true)
        .allow_obsolete_multiline_headers_in_responses(true)
        .ignore_invalid_headers_in_responses(true);
    let shaken = client.handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) =
        shaken.map_err(|e| (fault(&e, "HTTP/1", Step::Response), None))?;
    let exchange = async {
        let sent = deadline.within(Step::Response, sender.send_request(request)).await;
        take(sent, question, "HTTP/1", deadline).await
    };
    let (answer, error) = beside(connection, exchange).await;
    answer.map_err(|(reason, told)| (why(reason, error.as_ref(), "HTTP/1"), told))
}

/// HTTP/2, by ALPN or by prior knowledge.
pub(super) async fn two(
    stream: impl Stream,
    question: &Question,
    authority: &str,
    deadline: Deadline,
) -> Answer {
    let request = Request::get(uri(question, authority).map_err(|error| local(&error))?)
        .header(USER_AGENT, AGENT)
        .body(Empty::<Bytes>::new())
        .map_err(|error| local(&error))?;
    let (mut sender, connection) = open_two(stream, deadline).await.map_err(|r| (r, None))?;
    let exchange = async {
        let sent = deadline.within(Step::Response, sender.send_request(request)).await;
        take(sent, question, "HTTP/2", deadline).await
    };
    let (answer, error) = beside(connection, exchange).await;
    answer.map_err(|(reason, told)| (why(reason, error.as_ref(), "HTTP/2"), told))
}

/// An HTTP/2 connection: what to ask through, and what has to be driven meanwhile.
pub(super) async fn open_two<S, B>(
    stream: S,
    deadline: Deadline,
) -> Result<
    (http2::SendRequest<B>, impl Future<Output = Result<(), hyper::Error>> + use<S, B>),
    Reason,
>
where
    S: Stream,
    B: hyper::body::Body + Unpin + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let mut client = http2::Builder::new(Own::default());
    client.max_header_list_size(MOST_HEAD as u32).initial_stream_window_size(MOST_BODY as u32);
    let shaken = deadline.within(Step::Http2, client.handshake(TokioIo::new(stream))).await?;
    shaken.map_err(|error| fault(&error, "HTTP/2", Step::Http2))
}

fn uri(question: &Question, authority: &str) -> Result<Uri, hyper::http::Error> {
    let scheme = if question.ask.tls { Scheme::HTTPS } else { Scheme::HTTP };
    let path = PathAndQuery::try_from(question.ask.path.as_str())?;
    Uri::builder().scheme(scheme).authority(authority).path_and_query(path).build()
}

/// Drives the connection for as long as the exchange takes, and not longer. What the connection
/// ended of comes with it: the exchange itself only hears that it is over.
pub(super) async fn beside<T>(
    connection: impl Future<Output = Result<(), hyper::Error>>,
    exchange: impl Future<Output = T>,
) -> (T, Option<hyper::Error>) {
    let (mut connection, mut exchange) = (pin!(connection), pin!(exchange));
    let (mut open, mut error) = (true, None);
    loop {
        tokio::select! {
            biased;
            done = &mut exchange => return (done, error),
            // What it has received before its end is still to be read.
            end = &mut connection, if open => (open, error) = (false, end.err()),
        }
    }
}

/// A connection that was closed because what came over it is not the protocol.
pub(super) fn why(reason: Reason, error: Option<&hyper::Error>, protocol: &'static str) -> Reason {
    let closed = |step| error.map(|error| fault(error, protocol, step));
    match reason {
        Reason::Closed(step) => closed(step).unwrap_or(reason),
        other => other,
    }
}

/// Spawns what HTTP/2 runs beside a connection. It ends with the probe.
#[derive(Clone, Default)]
struct Own(Arc<Mutex<JoinSet<()>>>);

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for Own {
    fn execute(&self, task: F) {
        self.0.lock().spawn(task);
    }
}

/// Reads a response to its end, and judges it.
async fn take(
    sent: Result<Result<hyper::Response<Incoming>, hyper::Error>, Reason>,
    question: &Question,
    protocol: &'static str,
    deadline: Deadline,
) -> Answer {
    let response = sent.map_err(|reason| (reason, None))?;
    let response = response.map_err(|e| (fault(&e, protocol, Step::Response), None))?;
    let (head, body) = response.into_parts();
    let read = deadline.within(Step::Body, read(body)).await.map_err(|reason| (reason, None))?;
    read.map_err(|error| (fault(&error, protocol, Step::Body), None))?;
    let told = Some(Response { weight: weight(&head.headers) });
    let status = head.status.as_u16();
    let good = status == 200 || (!question.ask.only_200 && head.status.is_success());
    if good { Ok((format!("HTTP {status}"), told)) } else { Err((Reason::Status(status), told)) }
}

/// To its end, or as far as [`MOST_BODY`].
async fn read(mut body: Incoming) -> Result<(), hyper::Error> {
    let mut room = MOST_BODY;
    while let Some(frame) = body.frame().await {
        let bytes = frame?.data_ref().map_or(0, Bytes::len);
        match room.checked_sub(bytes) {
            Some(left) => room = left,
            None => break,
        }
    }
    Ok(())
}

fn weight(headers: &HeaderMap) -> Option<Vec<u8>> {
    let values: Vec<_> = headers.get_all(weights::HEADER).iter().map(|v| v.as_bytes()).collect();
    (!values.is_empty()).then(|| values.join(&b','))
}

/// What hyper complains about, as far as it concerns an operator.
pub(super) fn fault(error: &hyper::Error, protocol: &'static str, step: Step) -> Reason {
    let h2_closed = source::<h2::Error>(error)
        // GOAWAY of our own means that what came is not HTTP/2.
        .is_some_and(|e| e.is_io() || (e.is_go_away() && e.is_remote()));
    let closed = error.is_incomplete_message() || error.is_canceled() || error.is_closed();
    if closed || h2_closed || source::<std::io::Error>(error).is_some() {
        return Reason::Closed(step);
    }
    let what = std::error::Error::source(error).map_or(error.to_string(), ToString::to_string);
    Reason::Malformed { protocol, what }
}

fn source<E: std::error::Error + 'static>(error: &hyper::Error) -> Option<&E> {
    std::error::Error::source(error)?.downcast_ref()
}

/// The configuration's checks leave nothing that cannot be sent.
fn local(error: &impl ToString) -> (Reason, Option<Response>) {
    (Reason::Local(error.to_string()), None)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::health::question::{Ask, At};
    use crate::model::CheckProtocol;

    fn authority_of(to: &str, tls: bool) -> String {
        let to: SocketAddr = to.parse().expect("an address");
        let ask = Ask {
            protocol: if tls { CheckProtocol::Https } else { CheckProtocol::Http },
            tls,
            tls_ca: None,
            path: "/".into(),
            host: String::new(),
            send: String::new(),
            expect: String::new(),
            grpc_service: String::new(),
            only_200: false,
        };
        let (interval, timeout) = (Duration::from_secs(5), Duration::from_secs(5));
        let at = At::Address(to.ip());
        authority(&Question { at, port: to.port(), ask, interval, timeout }, to)
    }

    /// RFC 9110, 7.2, and RFC 3986, 3.2.2
    #[test]
    fn without_a_host_the_address_stands_for_it_with_a_port_that_is_not_the_schemes_own() {
        for (to, plain, inside_tls) in [
            ("192.0.2.1:80", "192.0.2.1", "192.0.2.1:80"),
            ("192.0.2.1:443", "192.0.2.1:443", "192.0.2.1"),
            ("[2001:db8::1]:80", "[2001:db8::1]", "[2001:db8::1]:80"),
            ("[2001:db8::1]:443", "[2001:db8::1]:443", "[2001:db8::1]"),
            ("[2001:db8::1]:8080", "[2001:db8::1]:8080", "[2001:db8::1]:8080"),
        ] {
            assert_eq!((&*authority_of(to, false), &*authority_of(to, true)), (plain, inside_tls));
        }
    }
}
