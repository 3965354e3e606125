//! A small fake Messages API on loopback: scripted answers, recorded requests.

mod request;
mod turn;
mod wire;

use std::{
    collections::VecDeque,
    convert::Infallible,
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
};

use http_body_util::BodyExt as _;
use hyper::{Request, Response, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::sync::oneshot;

pub use self::{
    request::{ApiRequest, HookContext, Sender},
    turn::{
        LimitClaim, ToolCall, Turn, agent, bash, call, calls, edit, mcp, overloaded, read, status, text,
        too_many_requests, tool, usage_limit, usage_limit_with, with_usage,
    },
};

/// What the model says when its script is at an end.
const AFTER_THE_SCRIPT: &str = "Nothing more is scripted.";

/// A running fake API; stops when dropped.
pub struct FakeApi {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    stop: Option<oneshot::Sender<Infallible>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct State {
    main: VecDeque<Turn>,
    marked: Vec<(String, VecDeque<Turn>)>,
    requests: Vec<ApiRequest>,
    unscripted: usize,
    answers: u64,
}

impl FakeApi {
    /// Starts the API on a free port of the loopback address.
    pub fn start() -> io::Result<Self> {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let state = Arc::new(Mutex::new(State::default()));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel();
        let served = Arc::clone(&state);
        let thread = std::thread::Builder::new().name("fake-api".into()).spawn(move || {
            runtime.block_on(async move {
                tokio::task::LocalSet::new()
                    .run_until(async move {
                        if let Ok(listener) = tokio::net::TcpListener::from_std(listener) {
                            tokio::task::spawn_local(accept(listener, served));
                            // Ends with an error when the sender is dropped; there is no other way to end.
                            let _ = stopped.await;
                        }
                    })
                    .await;
            });
        })?;
        Ok(Self { address, state, stop: Some(stop), thread: Some(thread) })
    }

    /// Value for `ANTHROPIC_BASE_URL`.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Appends answers for the main conversation: every one that has no script of its own.
    pub fn script(&self, turns: impl IntoIterator<Item = Turn>) {
        self.state().main.extend(turns);
    }

    /// Appends answers for the conversation whose first user message holds `marker`, such as a subagent's.
    pub fn script_for(&self, marker: &str, turns: impl IntoIterator<Item = Turn>) {
        let mut state = self.state();
        match state.marked.iter_mut().find(|(known, _)| known == marker) {
            Some((_, queue)) => queue.extend(turns),
            None => state.marked.push((marker.to_owned(), turns.into_iter().collect())),
        }
    }

    /// Every request so far, those of the client itself included.
    pub fn all_requests(&self) -> Vec<ApiRequest> {
        self.state().requests.clone()
    }

    /// The requests of the main conversation so far, in the order they came.
    pub fn requests(&self) -> Vec<ApiRequest> {
        self.requests_of(&Sender::Main)
    }

    /// The requests of the conversation with this marker.
    pub fn requests_for(&self, marker: &str) -> Vec<ApiRequest> {
        self.requests_of(&Sender::Marked(marker.to_owned()))
    }

    /// Number of scripted answers nobody has asked for yet.
    pub fn answers_left(&self) -> usize {
        let state = self.state();
        state.main.len() + state.marked.iter().map(|(_, queue)| queue.len()).sum::<usize>()
    }

    /// Number of requests that came after the end of their script.
    pub fn unscripted_requests(&self) -> usize {
        self.state().unscripted
    }

    fn requests_of(&self, sender: &Sender) -> Vec<ApiRequest> {
        self.state().requests.iter().filter(|request| request.sender == *sender).cloned().collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

impl Drop for FakeApi {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

// A test that failed elsewhere must not hide its message behind a poisoned lock.
fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn accept(listener: tokio::net::TcpListener, state: Arc<Mutex<State>>) {
    while let Ok((connection, _)) = listener.accept().await {
        let state = Arc::clone(&state);
        tokio::task::spawn_local(async move {
            let service = service_fn(|request| serve(request, &state));
            // An error is a dropped connection: ours by script, or the client's that was killed.
            let _ = http1::Builder::new().serve_connection(TokioIo::new(connection), service).await;
        });
    }
}

/// Answers one request; an error closes the connection.
async fn serve(request: Request<Incoming>, state: &Mutex<State>) -> io::Result<Response<wire::ScriptedBody>> {
    let (head, body) = request.into_parts();
    let bytes = body.collect().await.map_err(io::Error::other)?.to_bytes();
    let body = serde_json::from_slice::<Value>(&bytes).unwrap_or(Value::Null);
    let mut recorded = ApiRequest {
        sender: Sender::Client,
        method: head.method.to_string(),
        path: head.uri.to_string(),
        headers: head
            .headers
            .iter()
            .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
            .collect(),
        body,
    };
    let mut state = lock(state);
    let answer = if head.method != "POST" || !head.uri.path().starts_with("/v1/messages") {
        wire::json_response(404, &[], &turn::error_body("not_found_error", "not part of the fake API"))
    } else if head.uri.path().ends_with("/count_tokens") {
        wire::json_response(200, &[], &json!({ "input_tokens": 20 }))
    } else {
        recorded.sender = state.sender_of(&recorded);
        let turn = state.next_turn(&recorded.sender);
        state.answers += 1;
        let stream = recorded.body["stream"] == true;
        let answer = wire::answer(&turn, recorded.model(), stream, state.answers);
        state.requests.push(recorded);
        return answer.ok_or_else(|| io::ErrorKind::ConnectionReset.into());
    };
    state.requests.push(recorded);
    Ok(answer)
}

impl State {
    fn sender_of(&self, request: &ApiRequest) -> Sender {
        let has_tools = request.body["tools"].as_array().is_some_and(|tools| !tools.is_empty());
        if !has_tools {
            return Sender::Client;
        }
        let opening = request.first_user_text();
        self.marked
            .iter()
            .find(|(marker, _)| opening.contains(marker))
            .map_or(Sender::Main, |(marker, _)| Sender::Marked(marker.clone()))
    }

    fn next_turn(&mut self, sender: &Sender) -> Turn {
        let queue = match sender {
            Sender::Client => return text("A title"),
            Sender::Main => &mut self.main,
            Sender::Marked(marker) => match self.marked.iter_mut().find(|(known, _)| known == marker) {
                Some((_, queue)) => queue,
                None => &mut self.main,
            },
        };
        queue.pop_front().unwrap_or_else(|| {
            self.unscripted += 1;
            text(AFTER_THE_SCRIPT)
        })
    }
}
