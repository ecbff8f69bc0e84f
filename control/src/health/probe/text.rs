//! TCP and SSL: what is sent and what is expected; without either, that there is a connection.

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::Stream;
use super::deadline::Deadline;
use crate::health::question::Question;
use crate::health::report::{Reason, Step};
use crate::model::CheckProtocol;

pub(super) async fn exchange(
    mut stream: impl Stream,
    question: &Question,
    deadline: Deadline,
) -> Result<String, Reason> {
    let ask = &question.ask;
    if !ask.send.is_empty() {
        let sent = async {
            stream.write_all(ask.send.as_bytes()).await?;
            stream.flush().await
        };
        let sent = deadline.within(Step::Response, sent).await?;
        sent.map_err(|_| Reason::Closed(Step::Response))?;
    }
    if !ask.expect.is_empty() {
        let expected = expect(&mut stream, ask.expect.as_bytes());
        deadline.within(Step::Response, expected).await??;
    }
    Ok(match (ask.protocol, ask.expect.is_empty()) {
        (_, false) => "the expected answer".into(),
        (CheckProtocol::Ssl, true) => "TLS handshake done".into(),
        (_, true) => "connected".into(),
    })
}

/// Reads as much as is expected, and stops at the first byte that differs.
async fn expect(stream: &mut impl Stream, expected: &[u8]) -> Result<(), Reason> {
    let mut got = Vec::new();
    let mut buffer = [0; 1024];
    while got.len() < expected.len() {
        let room = buffer.len().min(expected.len() - got.len());
        let read = stream.read(buffer.get_mut(..room).unwrap_or_default()).await;
        match read {
            Ok(0) | Err(_) if got.is_empty() => return Err(Reason::Closed(Step::Response)),
            Ok(0) | Err(_) => return Err(unexpected(&got)),
            Ok(read) => got.extend_from_slice(buffer.get(..read).unwrap_or_default()),
        }
        if !expected.starts_with(&got) {
            return Err(unexpected(&got));
        }
    }
    Ok(())
}

/// A bit of it, for a log.
fn unexpected(got: &[u8]) -> Reason {
    Reason::Unexpected(String::from_utf8_lossy(got).chars().take(40).collect())
}
