//! The other end of the control socket: one question, one answer.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{CONTENT_TYPE, HOST};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::UnixStream;

use super::answer::Fault;

/// For so long an answer is waited for: a reload of a large file takes seconds.
const PATIENCE: Duration = Duration::from_secs(100);

/// An answer is at most so long.
const LONGEST: usize = 64 << 20;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum NoAnswer {
    /// Nobody listens.
    #[error("windrose is not running: nobody listens at {0}")]
    NotRunning(PathBuf),
    /// The user may not.
    #[error("this user may not use {0}: be root, or in the group windrose")]
    NotPermitted(PathBuf),
    /// It is too busy.
    #[error("{0}")]
    Busy(String),
    /// The question makes no sense to it.
    #[error("{0}")]
    Refused(String),
    /// Something broke on the way.
    #[error("{path}: {why}")]
    Broken {
        /// The socket.
        path: PathBuf,
        /// What.
        why: String,
    },
}

/// One question.
pub struct Ask<'a> {
    /// GET or POST.
    pub method: Method,
    /// Path and query.
    pub path: &'a str,
    /// The body; empty: none.
    pub body: Bytes,
    /// Whether that is JSON.
    pub json: bool,
}

impl<'a> Ask<'a> {
    /// What only reads.
    pub fn get(path: &'a str) -> Self {
        Self { method: Method::GET, path, body: Bytes::new(), json: false }
    }

    /// What changes something.
    pub fn post(path: &'a str, body: &impl serde::Serialize) -> Self {
        let body = serde_json::to_vec(body).unwrap_or_default().into();
        Self { method: Method::POST, path, body, json: true }
    }

    /// The same with a text.
    pub fn post_text(path: &'a str, text: Vec<u8>) -> Self {
        Self { method: Method::POST, path, body: text.into(), json: false }
    }
}

/// Asks, and waits for the answer.
///
/// # Errors
/// Nobody listens, nobody may ask, or the question is refused.
pub fn ask(socket: &Path, ask: Ask<'_>) -> Result<Value, NoAnswer> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|e| broken(socket, e.to_string()))?;
    runtime.block_on(async {
        let answer = tokio::time::timeout(PATIENCE, exchange(socket, ask)).await;
        answer.unwrap_or_else(|_| {
            Err(broken(socket, format!("no answer within {} s", PATIENCE.as_secs())))
        })
    })
}

fn broken(socket: &Path, why: String) -> NoAnswer {
    NoAnswer::Broken { path: socket.to_owned(), why }
}

async fn exchange(socket: &Path, ask: Ask<'_>) -> Result<Value, NoAnswer> {
    let stream = UnixStream::connect(socket).await.map_err(|e| match e.kind() {
        ErrorKind::NotFound | ErrorKind::ConnectionRefused => {
            NoAnswer::NotRunning(socket.to_owned())
        }
        ErrorKind::PermissionDenied => NoAnswer::NotPermitted(socket.to_owned()),
        ErrorKind::WouldBlock => NoAnswer::Busy("windrose is busy: too many connections".into()),
        _ => broken(socket, e.to_string()),
    })?;
    let (status, body) = speak(stream, ask).await.map_err(|why| match why.is_closed_early() {
        true => NoAnswer::Busy("windrose is busy, or stopping: it closed the connection".into()),
        false => broken(socket, why.to_string()),
    })?;
    if status.is_success() {
        return serde_json::from_slice(&body).map_err(|e| broken(socket, e.to_string()));
    }
    let fault = serde_json::from_slice(&body);
    let why = fault.map_or_else(|_| format!("it answers {status}"), |fault: Fault| fault.error);
    match status {
        StatusCode::SERVICE_UNAVAILABLE => Err(NoAnswer::Busy(why)),
        _ => Err(NoAnswer::Refused(why)),
    }
}

#[derive(Debug, thiserror::Error)]
enum Unspoken {
    #[error(transparent)]
    Http(#[from] hyper::Error),
    #[error(transparent)]
    Request(#[from] hyper::http::Error),
    #[error("{0}")]
    Body(Box<dyn std::error::Error + Send + Sync>),
}

impl Unspoken {
    fn is_closed_early(&self) -> bool {
        match self {
            Self::Http(e) => e.is_closed() || e.is_canceled() || e.is_incomplete_message(),
            Self::Request(_) | Self::Body(_) => false,
        }
    }
}

async fn speak(stream: UnixStream, ask: Ask<'_>) -> Result<(StatusCode, Bytes), Unspoken> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let driver = tokio::spawn(connection);
    let kind = if ask.json { "application/json" } else { "text/plain; charset=utf-8" };
    let request = Request::builder()
        .method(ask.method)
        .uri(ask.path)
        .header(HOST, "windrose")
        .header(CONTENT_TYPE, kind)
        .body(Full::new(ask.body))?;
    let response = sender.send_request(request).await?;
    let status = response.status();
    let body = Limited::new(response.into_body(), LONGEST).collect().await;
    driver.abort();
    Ok((status, body.map_err(Unspoken::Body)?.to_bytes()))
}
