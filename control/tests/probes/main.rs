//! Every kind of probe against servers that behave, misbehave, or do nothing (W-1, W-4).

mod certificates;
mod http1;
mod http2;
mod server;
mod text;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use control::health::probe::Prober;
use control::health::probe::dial::Dialer;
use control::health::question::Ask;
use control::health::{At, Question, Report};
use control::model::CheckProtocol;
use tables::SlotId;

/// Long enough for whatever answers, short enough to wait for what does not.
const TIMEOUT: Duration = Duration::from_millis(700);

pub(crate) fn question(protocol: CheckProtocol, port: u16) -> Question {
    let tls = matches!(protocol, CheckProtocol::Https | CheckProtocol::Http2 | CheckProtocol::Ssl);
    Question {
        at: At::Address(IpAddr::from([127, 0, 0, 1])),
        port,
        ask: Ask {
            protocol,
            tls,
            tls_ca: None,
            path: "/health".into(),
            host: "web.example".into(),
            send: String::new(),
            expect: String::new(),
            grpc_service: String::new(),
            only_200: true,
        },
        interval: TIMEOUT,
        timeout: TIMEOUT,
    }
}

pub(crate) async fn ask(question: Question) -> Report {
    let prober = Arc::new(Prober::new(Dialer::default()));
    let slot = SlotId::new(0).expect("in range");
    prober.ask(&Arc::new(question), slot).await
}

/// What it answered, or why it failed.
pub(crate) fn said(report: &Report) -> String {
    match &report.answer {
        Ok(answer) => answer.clone(),
        Err(reason) => reason.to_string(),
    }
}

/// The weight that came with a complete response; "none" without the header, "" without a response.
pub(crate) fn weight(report: &Report) -> String {
    report.response.as_ref().map_or_else(String::new, |response| {
        response.weight.as_ref().map_or("none".into(), |w| String::from_utf8_lossy(w).into_owned())
    })
}
