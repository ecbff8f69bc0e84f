//! How a question is asked. No protocol is written here: hyper, rustls and tonic-health speak.
//!
//! - this page: one probe from beginning to end, within its time;
//! - [`dial`]: the TCP connection, to the backend's address or to a VIP;
//! - `tls`: what is inside TLS; `certificate`: whether somebody vouches for it, where that is asked;
//! - `http`: HTTP/1 and HTTP/2; `grpc`: grpc.health.v1 over that;
//! - `text`: TCP and SSL, what is sent and expected;
//! - `deadline`: no step outlives the probe's time.
//!
//! Everything that a server sends is bounded: heads at [`MOST_HEAD`] bytes, bodies at [`MOST_BODY`].

mod certificate;
mod deadline;
pub mod dial;
mod grpc;
mod http;
mod text;
mod tls;

use std::net::{IpAddr, SocketAddr};

use tables::SlotId;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinSet;

use super::question::Question;
use super::report::{Reason, Report, Response};
use crate::model::CheckProtocol;
use deadline::Deadline;
use dial::Dialer;
use std::sync::Arc;
use tls::Tls;

/// What a response's head may take, bytes.
pub const MOST_HEAD: usize = 16 * 1024;

/// So much of a response's body is read; what is longer counts as read.
pub const MOST_BODY: usize = 64 * 1024;

/// A byte stream: TCP, or TLS over it.
pub(super) trait Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send + 'static> Stream for T {}

/// What an answer that is not a failure says, and the response that it was.
type Answer = Result<(String, Option<Response>), (Reason, Option<Response>)>;

/// Asks questions.
#[derive(Debug)]
pub struct Prober {
    dialer: Dialer,
    tls: Tls,
}

impl Prober {
    /// With a way to make connections.
    pub fn new(dialer: Dialer) -> Self {
        Self { dialer, tls: Tls::new() }
    }

    /// Asks; takes no longer than the question's timeout. Of several VIPs all are asked at the same
    /// time: the first one's response counts, and one failure is the probe's.
    pub async fn ask(self: &Arc<Self>, question: &Arc<Question>, slot: SlotId) -> Report {
        let deadline = Deadline::after(question.timeout);
        let mut probes = JoinSet::new();
        for (place, address) in question.addresses().iter().copied().enumerate() {
            let (prober, question) = (Arc::clone(self), Arc::clone(question));
            probes.spawn(
                async move { (place, prober.one(&question, address, slot, deadline).await) },
            );
        }
        let mut answers: Vec<_> = probes.join_all().await;
        answers.sort_by_key(|(place, _)| *place);
        together(question, answers.into_iter().map(|(_, answer)| answer))
    }

    async fn one(
        &self,
        question: &Question,
        address: IpAddr,
        slot: SlotId,
        deadline: Deadline,
    ) -> Answer {
        let to = SocketAddr::new(address, question.port);
        // Declared before the stream: what is on its way when it closes still finds its backend.
        let dialed = self.dialer.dial(question, to, slot, deadline).await;
        let (stream, _claim) = dialed.map_err(|reason| (reason, None))?;
        if is_in_tls(question) {
            let secured = self.tls.over(stream, question, address, deadline).await;
            say(secured.map_err(|reason| (reason, None))?, question, to, deadline).await
        } else {
            say(stream, question, to, deadline).await
        }
    }
}

fn is_in_tls(question: &Question) -> bool {
    match question.ask.protocol {
        CheckProtocol::Https | CheckProtocol::Ssl => true,
        CheckProtocol::Http | CheckProtocol::Tcp => false,
        CheckProtocol::Http2 | CheckProtocol::Grpc => question.ask.tls,
    }
}

async fn say(
    stream: impl Stream,
    question: &Question,
    to: SocketAddr,
    deadline: Deadline,
) -> Answer {
    let authority = http::authority(question, to);
    match question.ask.protocol {
        CheckProtocol::Http | CheckProtocol::Https => {
            http::one(stream, question, &authority, deadline).await
        }
        CheckProtocol::Http2 => http::two(stream, question, &authority, deadline).await,
        CheckProtocol::Grpc => grpc::ask(stream, question, &authority, deadline).await,
        CheckProtocol::Tcp | CheckProtocol::Ssl => {
            let answer = text::exchange(stream, question, deadline).await;
            answer.map(|said| (said, None)).map_err(|reason| (reason, None))
        }
    }
}

/// One report of all answers, in the order of the addresses.
fn together(question: &Question, answers: impl Iterator<Item = Answer>) -> Report {
    let several = question.addresses().len() > 1;
    let mut report = Report { answer: Ok(String::new()), response: None };
    for (address, answer) in question.addresses().iter().zip(answers) {
        let (answer, response) = match answer {
            Ok((said, response)) => (Ok(said), response),
            Err((reason, response)) => (Err(named(*address, reason, several)), response),
        };
        report.response = report.response.or(response);
        if report.answer.as_ref().is_ok_and(String::is_empty) || answer.is_err() {
            report.answer = report.answer.and(answer);
        }
    }
    report
}

fn named(vip: IpAddr, reason: Reason, several: bool) -> Reason {
    match several {
        true => Reason::Vip { vip, reason: Box::new(reason) },
        false => reason,
    }
}
