//! gRPC's own health service, grpc.health.v1.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::Incoming;
use hyper::client::conn::http2::SendRequest;
use hyper::{Request, Response, Uri};
use tonic::body::Body;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tower_service::Service;

use super::deadline::Deadline;
use super::http::{beside, open_two, why};
use super::{Answer, Stream};
use crate::health::question::Question;
use crate::health::report::{Reason, Step};

/// An answer is a few bytes.
const MOST_ANSWER: usize = 4096;

pub(super) async fn ask(
    stream: impl Stream,
    question: &Question,
    authority: &str,
    deadline: Deadline,
) -> Answer {
    let answer = check(stream, question, authority, deadline).await;
    answer.map(|()| ("gRPC SERVING".to_owned(), None)).map_err(|reason| (reason, None))
}

async fn check(
    stream: impl Stream,
    question: &Question,
    authority: &str,
    deadline: Deadline,
) -> Result<(), Reason> {
    let scheme = if question.ask.tls { "https" } else { "http" };
    let origin = Uri::builder().scheme(scheme).authority(authority).path_and_query("/").build();
    let origin = origin.map_err(|error| Reason::Local(error.to_string()))?;
    let (sender, connection) = open_two(stream, deadline).await?;
    let mut client = HealthClient::with_origin(OneConnection(sender), origin)
        .max_decoding_message_size(MOST_ANSWER);
    let request = HealthCheckRequest { service: question.ask.grpc_service.clone() };
    let exchange = deadline.within(Step::Response, client.check(request));
    let (answer, error) = beside(connection, exchange).await;
    let answer = answer?.map_err(|status| why(failed(&status), error.as_ref(), "HTTP/2"))?;
    match ServingStatus::try_from(answer.into_inner().status) {
        Ok(ServingStatus::Serving) => Ok(()),
        Ok(status) => Err(Reason::Grpc(status.as_str_name().to_owned())),
        Err(unknown) => Err(Reason::Grpc(unknown.to_string())),
    }
}

/// `status NOT_FOUND: unknown service`, as the server says it, or what became of the connection.
fn failed(status: &tonic::Status) -> Reason {
    let lost = std::error::Error::source(status).is_some();
    let message: String = status.message().chars().take(100).collect();
    match (lost, message.as_str()) {
        (true, _) => Reason::Closed(Step::Response),
        (false, "") => Reason::Grpc(format!("status {:?}", status.code())),
        (false, message) => Reason::Grpc(format!("status {:?}: {message}", status.code())),
    }
}

/// One HTTP/2 connection, as tonic wants to see it.
struct OneConnection(SendRequest<Body>);

impl Service<Request<Body>> for OneConnection {
    type Response = Response<Incoming>;
    type Error = hyper::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Incoming>, hyper::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), hyper::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        Box::pin(self.0.send_request(request))
    }
}
