//! Connections to a listener, bounded in number, size and time.
//!
//! One request a connection. Beyond [`CONNECTIONS`] the answer is 503 at once; beyond as many of
//! those, or when somebody is slow, the connection is closed. So a flood costs a bounded share of
//! the background threads and of memory, and the control thread nothing.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::CONTENT_TYPE;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixListener;
use tokio::sync::Semaphore;

use super::answer::Fault;
use super::request::Unasked;

/// So many are served at once.
pub const CONNECTIONS: usize = 64;
/// For this long a connection may take to say what it wants,
const SLOW: Duration = Duration::from_secs(5);
/// and for this long it lasts at most.
const LONGEST: Duration = Duration::from_secs(120);
/// Those that are only told to come again have this long.
const REFUSAL: Duration = Duration::from_secs(1);
/// What a request line and headers may take together, and how many headers there may be.
const HEAD: usize = 16 << 10;
const HEADERS: usize = 32;
/// Between two tries when the process has no file descriptor left.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves whoever connects, until the runtime ends.
pub async fn serve(listener: UnixListener, router: Router) {
    let (room, refusals) =
        (Arc::new(Semaphore::new(CONNECTIONS)), Arc::new(Semaphore::new(CONNECTIONS)));
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!("control socket: {error}");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        if let Ok(permit) = Arc::clone(&room).try_acquire_owned() {
            let router = router.clone();
            tokio::spawn(async move {
                one(stream, router).await;
                drop(permit);
            });
        } else if let Ok(permit) = Arc::clone(&refusals).try_acquire_owned() {
            tokio::spawn(async move {
                refuse(stream).await;
                drop(permit);
            });
        }
    }
}

fn protocol() -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(SLOW)
        .keep_alive(false)
        .max_headers(HEADERS)
        .max_buf_size(HEAD);
    builder
}

/// Serves one connection. Whatever is wrong with it is told to its other end alone.
async fn one(stream: impl AsyncRead + AsyncWrite + Unpin, router: Router) {
    let service = TowerToHyperService::new(router);
    let serving = protocol().serve_connection(TokioIo::new(stream), service);
    let _ = tokio::time::timeout(LONGEST, serving).await;
}

async fn refuse(stream: impl AsyncRead + AsyncWrite + Unpin) {
    let service = service_fn(|_: Request<Incoming>| async { busy() });
    let refusing = protocol().serve_connection(TokioIo::new(stream), service);
    let _ = tokio::time::timeout(REFUSAL, refusing).await;
}

fn busy() -> Result<Response<Full<Bytes>>, hyper::http::Error> {
    let fault = Fault { error: Unasked::Busy.to_string() };
    let body = serde_json::to_vec(&fault).unwrap_or_default();
    Response::builder()
        .status(StatusCode::SERVICE_UNAVAILABLE)
        .header(CONTENT_TYPE, "application/json")
        .body(Full::new(body.into()))
}
