//! Paths and methods. What only reads is apart from what changes something: a listener that
//! anybody on the machine can reach gets the first alone.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{DefaultBodyLimit, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use tokio::sync::OwnedSemaphorePermit;

use super::answer::{Changed, Compared, ConnectionQuery, Explained, Fault, OrderOf, Question};
use super::desk::Desk;
use super::request::Unasked;
use super::{connections, counters, orders, status};
use crate::config::{self, Environment, restart_needed};
use crate::diff;
use crate::explain::Explanation;
use crate::reload::Kept;
use crate::state::{Change, Refused, Verb};

/// A request's body is at most this long,
const BODY: usize = 64 << 10;
/// and a configuration file is at most as long as [`config::load`] takes one.
const FILE: usize = 17 << 20;
/// So long somebody waits for room.
const PATIENCE: Duration = Duration::from_secs(2);

type Shared = State<Arc<Desk>>;
type Answered<T> = Result<Json<T>, No>;

/// What only reads.
pub fn reading() -> Router<Arc<Desk>> {
    Router::new()
        .route("/v1/status", get(status_now))
        .route("/v1/services", get(services))
        .route("/v1/counters", get(counters_now))
        .route("/v1/connections", get(list_connections))
        .route("/v1/explain", post(explain))
        .layer(DefaultBodyLimit::max(BODY))
}

/// What changes something, or tells what the file says.
pub fn changing() -> Router<Arc<Desk>> {
    Router::new()
        .route("/v1/reload", post(reload))
        .route("/v1/drain", post(drain))
        .route("/v1/disable", post(disable))
        .route("/v1/enable", post(enable))
        .route("/v1/compare", post(compare))
        .layer(DefaultBodyLimit::max(BODY))
}

/// All of it, for the control socket.
pub fn all(desk: Arc<Desk>) -> Router {
    reading().merge(changing()).fallback(nowhere).with_state(desk)
}

/// Why there is no answer, and of what kind that is.
struct No(StatusCode, String);

impl IntoResponse for No {
    fn into_response(self) -> Response {
        (self.0, Json(Fault { error: self.1 })).into_response()
    }
}

impl No {
    fn because(status: StatusCode) -> impl FnOnce(String) -> Self {
        move |why| Self(status, why)
    }
}

impl From<Unasked> for No {
    fn from(unasked: Unasked) -> Self {
        Self(StatusCode::SERVICE_UNAVAILABLE, unasked.to_string())
    }
}

impl From<Kept> for No {
    fn from(kept: Kept) -> Self {
        let status = match kept {
            Kept::Refused(Refused::NoService(_) | Refused::NoBackend { .. }) => {
                StatusCode::NOT_FOUND
            }
            _ => StatusCode::CONFLICT,
        };
        Self(status, kept.to_string())
    }
}

impl From<JsonRejection> for No {
    fn from(why: JsonRejection) -> Self {
        Self(why.status(), why.body_text())
    }
}

impl From<QueryRejection> for No {
    fn from(why: QueryRejection) -> Self {
        Self(why.status(), why.body_text())
    }
}

async fn nowhere() -> No {
    let known = "/v1/status, /v1/services, /v1/counters, /v1/connections (GET); /v1/explain, \
                 /v1/reload, /v1/compare, /v1/drain, /v1/disable, /v1/enable (POST)";
    No(StatusCode::NOT_FOUND, format!("there is only {known}"))
}

/// Room for one answer that costs processor time, or memory for a file. Whoever finds none waits for
/// a moment: as many wait as there are connections, and not for long.
async fn room(desk: &Arc<Desk>) -> Result<OwnedSemaphorePermit, No> {
    let room = Arc::clone(&desk.heavy).acquire_owned();
    let room = tokio::time::timeout(PATIENCE, room).await.map_err(|_| Unasked::Busy)?;
    Ok(room.map_err(|_| Unasked::Stopping)?)
}

/// Makes such an answer where it holds up nobody, a few at once.
async fn heavy<T: Send + 'static>(
    desk: &Arc<Desk>,
    make: impl FnOnce(&Desk) -> T + Send + 'static,
) -> Result<T, No> {
    heavy_in(room(desk).await?, desk, make).await
}

async fn heavy_in<T: Send + 'static>(
    room: OwnedSemaphorePermit,
    desk: &Arc<Desk>,
    make: impl FnOnce(&Desk) -> T + Send + 'static,
) -> Result<T, No> {
    let desk = Arc::clone(desk);
    let made = tokio::task::spawn_blocking(move || {
        // Given back when the work is done, not when whoever asked has lost patience.
        let _room = room;
        make(&desk)
    });
    made.await.map_err(|broken| No(StatusCode::INTERNAL_SERVER_ERROR, broken.to_string()))
}

/// A body that may hold a configuration file.
async fn file_body(body: Body) -> Result<Bytes, No> {
    let read = axum::body::to_bytes(body, FILE).await;
    read.map_err(|e| No(StatusCode::PAYLOAD_TOO_LARGE, format!("the request: {e}")))
}

async fn status_now(State(desk): Shared) -> Answered<super::answer::Status> {
    heavy(&desk, status::status).await.map(Json)
}

async fn services(State(desk): Shared) -> Answered<Vec<super::answer::ServiceStatus>> {
    heavy(&desk, status::services).await.map(Json)
}

async fn counters_now(State(desk): Shared) -> Json<super::answer::CountersNow> {
    Json(counters::counters(&desk.counters, &desk.pictures.newest()))
}

async fn list_connections(
    State(desk): Shared,
    query: Result<Query<ConnectionQuery>, QueryRejection>,
) -> Result<Response, No> {
    let Query(query) = query?;
    let picture = desk.pictures.newest();
    let asked = connections::understand(&query, &picture.state);
    let asked = asked.map_err(|why| No(StatusCode::BAD_REQUEST, why.to_string()))?;
    match query.count_by {
        Some(by) => {
            let count = heavy(&desk, move |d| connections::count(d, &picture, &asked, by)).await?;
            Ok(Json(count).into_response())
        }
        None => {
            let list = heavy(&desk, move |d| connections::list(d, &picture, &asked)).await?;
            Ok(Json(list).into_response())
        }
    }
}

/// There is room for the answer before the question is read: with a file it may be long.
async fn explain(State(desk): Shared, body: Body) -> Answered<Explained> {
    let room = room(&desk).await?;
    let bytes = file_body(body).await?;
    let question: Question = serde_json::from_slice(&bytes)
        .map_err(|e| No(StatusCode::BAD_REQUEST, format!("the request: {e}")))?;
    let picture = desk.pictures.newest();
    let generation = picture.tables.generation;
    let answer = move |desk: &Desk| (desk.explain)(&picture, &question, desk.start.elapsed());
    let answer = heavy_in(room, &desk, answer).await?;
    let answer = answer.map_err(No::because(StatusCode::BAD_REQUEST))?;
    let Explanation { words: answer, packet } = answer;
    Ok(Json(Explained { answer, packet, generation }))
}

async fn reload(State(desk): Shared) -> Answered<super::answer::Reloaded> {
    Ok(Json((*desk.reloads.reload().await?).clone()))
}

/// A file's text against what is in force.
async fn compare(State(desk): Shared, body: Body) -> Answered<Compared> {
    let room = room(&desk).await?;
    let bytes = file_body(body).await?;
    let compared = heavy_in(room, &desk, move |desk| {
        let text = std::str::from_utf8(&bytes).map_err(|e| format!("the file: {e}"))?;
        let running = desk.pictures.newest();
        let old = running.state.config();
        let loaded = config::parse("the file", text, &Environment::detect());
        let new = loaded.map_err(|errors| errors.render(false))?.config;
        let diff = diff::diff(old, &new).map_err(|kept| kept.to_string())?;
        let restart_needed = restart_needed(old, &new);
        Ok(Compared { restart_needed, changes: diff.words(), diff })
    });
    compared.await?.map(Json).map_err(No::because(StatusCode::BAD_REQUEST))
}

async fn drain(desk: Shared, of: Result<Json<OrderOf>, JsonRejection>) -> Answered<Changed> {
    let Json(OrderOf { service, backend }) = of?;
    let order = match backend {
        Some(backend) => Change::Backend { service, backend, verb: Verb::Drain },
        None => Change::Service { service, drained: true },
    };
    obey(desk, order).await
}

async fn disable(desk: Shared, of: Result<Json<OrderOf>, JsonRejection>) -> Answered<Changed> {
    let Json(OrderOf { service, backend }) = of?;
    let Some(backend) = backend else {
        let why = "a backend is disabled, a service is drained: say which backend";
        return Err(No(StatusCode::BAD_REQUEST, why.into()));
    };
    obey(desk, Change::Backend { service, backend, verb: Verb::Disable }).await
}

async fn enable(desk: Shared, of: Result<Json<OrderOf>, JsonRejection>) -> Answered<Changed> {
    let Json(OrderOf { service, backend }) = of?;
    let order = match backend {
        Some(backend) => Change::Backend { service, backend, verb: Verb::Enable },
        None => Change::Service { service, drained: false },
    };
    obey(desk, order).await
}

async fn obey(State(desk): Shared, order: Change) -> Answered<Changed> {
    tracing::debug!(?order, "asked for");
    let answer = desk.asker.order(order)?.await.map_err(|_| Unasked::Stopping)??;
    // The picture with this order is published by now, so the last of two writers keeps both.
    let _turn = desk.orders.lock().await;
    let picture = desk.pictures.newest();
    let kept = tokio::task::spawn_blocking(move || {
        let state = &picture.state;
        orders::save(&state.config().admin.orders, state.orders())
    });
    let kept = kept.await.unwrap_or_else(|broken| Err(broken.to_string()));
    if let Err(why) = &kept {
        tracing::error!("the order is in force, but would not outlive a restart: {why}");
    }
    Ok(Json(Changed { generation: answer.generation, not_kept: kept.err() }))
}
