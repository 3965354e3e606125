//! How a [`Turn`] looks on the wire, streamed or not.

use std::{
    collections::VecDeque,
    io,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use hyper::{
    Response,
    body::{Body, Bytes, Frame},
    header::{HeaderName, HeaderValue},
};
use serde_json::{Value, json};

use tokio::time::Sleep;

use super::turn::{Turn, error_body};

const PAUSE: Duration = Duration::from_millis(200);

/// Answer for a request: `None` closes the connection without one.
pub(super) fn answer(turn: &Turn, model: &str, stream: bool, serial: u64) -> Option<Response<ScriptedBody>> {
    match turn {
        Turn::Status { code, headers, body } => Some(json_response(*code, headers, body)),
        Turn::WithHeaders { headers, turn } => {
            let mut response = answer(turn, model, stream, serial)?;
            for (name, value) in headers {
                let name = HeaderName::try_from(name).expect("header lines of a script are valid");
                let value = HeaderValue::try_from(value).expect("header lines of a script are valid");
                response.headers_mut().insert(name, value);
            }
            Some(response)
        }
        Turn::Drop => None,
        Turn::DropInStream | Turn::Stall if !stream => None,
        Turn::ErrorInStream if !stream => {
            Some(json_response(529, &[], &error_body("overloaded_error", "Overloaded")))
        }
        Turn::DropInStream => {
            let mut steps = opening(model, serial);
            steps.extend([Step::Pause, Step::Abort]);
            Some(event_stream(steps))
        }
        Turn::Stall => {
            let mut steps = opening(model, serial);
            steps.push_back(Step::Silence);
            Some(event_stream(steps))
        }
        Turn::ErrorInStream => {
            let mut steps = opening(model, serial);
            steps.push_back(event("error", error_body("overloaded_error", "Overloaded")));
            Some(event_stream(steps))
        }
        Turn::Message { .. } if stream => Some(event_stream(message_events(turn, model, serial))),
        Turn::Message { .. } => Some(json_response(
            200,
            &[],
            &message(model, serial, content(turn, serial), Some(stop_reason(turn))),
        )),
    }
}

/// A JSON answer.
pub(super) fn json_response(code: u16, headers: &[(String, String)], body: &Value) -> Response<ScriptedBody> {
    let mut response = Response::builder().status(code).header("content-type", "application/json");
    for (name, value) in headers {
        response = response.header(name, value);
    }
    response
        .body(VecDeque::from([Step::Data(body.to_string())]).into())
        .expect("status and header lines of a script are valid")
}

fn event_stream(steps: VecDeque<Step>) -> Response<ScriptedBody> {
    Response::builder()
        .header("content-type", "text/event-stream")
        .header("cache-control", "no-cache")
        .body(steps.into())
        .expect("the header lines are constant")
}

fn stop_reason(turn: &Turn) -> &'static str {
    match turn {
        Turn::Message { stop_reason: Some(reason), .. } => reason,
        Turn::Message { calls, .. } if !calls.is_empty() => "tool_use",
        _ => "end_turn",
    }
}

/// The content blocks of a message.
fn content(turn: &Turn, serial: u64) -> Vec<Value> {
    let Turn::Message { text, calls, .. } = turn else { return Vec::new() };
    let text = (!text.is_empty()).then(|| json!({ "type": "text", "text": text }));
    let calls = calls.iter().enumerate().map(|(index, call)| {
        json!({
            "type": "tool_use",
            "id": format!("toolu_01Scripted{serial:05}n{index:02}"),
            "name": call.name,
            "input": call.input,
        })
    });
    text.into_iter().chain(calls).collect()
}

fn message(model: &str, serial: u64, content: Vec<Value>, stop_reason: Option<&str>) -> Value {
    json!({
        "id": format!("msg_01Scripted{serial:05}"),
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": stop_reason,
        "stop_sequence": null,
        "usage": { "input_tokens": 20, "output_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0 },
    })
}

fn opening(model: &str, serial: u64) -> VecDeque<Step> {
    VecDeque::from([
        event(
            "message_start",
            json!({ "type": "message_start", "message": message(model, serial, Vec::new(), None) }),
        ),
        event(
            "content_block_start",
            json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
        ),
        event(
            "content_block_delta",
            json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": "It begins." } }),
        ),
        // A whole block: without one the client asks again, not streamed.
        event("content_block_stop", json!({ "type": "content_block_stop", "index": 0 })),
    ])
}

fn message_events(turn: &Turn, model: &str, serial: u64) -> VecDeque<Step> {
    let mut steps = VecDeque::from([event(
        "message_start",
        json!({ "type": "message_start", "message": message(model, serial, Vec::new(), None) }),
    )]);
    for (index, mut block) in content(turn, serial).into_iter().enumerate() {
        let delta = if block["type"] == "text" {
            let text = block["text"].take();
            block["text"] = json!("");
            json!({ "type": "text_delta", "text": text })
        } else {
            let input = block["input"].take();
            block["input"] = json!({});
            json!({ "type": "input_json_delta", "partial_json": input.to_string() })
        };
        steps.push_back(event(
            "content_block_start",
            json!({ "type": "content_block_start", "index": index, "content_block": block }),
        ));
        steps.push_back(event(
            "content_block_delta",
            json!({ "type": "content_block_delta", "index": index, "delta": delta }),
        ));
        steps.push_back(event("content_block_stop", json!({ "type": "content_block_stop", "index": index })));
    }
    steps.push_back(event(
        "message_delta",
        json!({
            "type": "message_delta",
            "delta": { "stop_reason": stop_reason(turn), "stop_sequence": null },
            "usage": { "output_tokens": 10 },
        }),
    ));
    steps.push_back(event("message_stop", json!({ "type": "message_stop" })));
    steps
}

fn event(name: &str, data: Value) -> Step {
    Step::Data(format!("event: {name}\ndata: {data}\n\n"))
}

/// A response body that can break off.
pub(super) struct ScriptedBody {
    steps: VecDeque<Step>,
    pause: Option<Pin<Box<Sleep>>>,
}

impl From<VecDeque<Step>> for ScriptedBody {
    fn from(steps: VecDeque<Step>) -> Self {
        Self { steps, pause: None }
    }
}

enum Step {
    Data(String),
    /// Lets the client read what was sent: it forgets what is unread when the connection breaks, and nothing tells
    /// the server that it was read.
    Pause,
    /// Says nothing more, with the connection open.
    Silence,
    /// Closes the connection with the body unfinished.
    Abort,
}

impl Body for ScriptedBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let body = self.get_mut();
        if let Some(pause) = &mut body.pause {
            ready!(pause.as_mut().poll(cx));
            body.pause = None;
        }
        match body.steps.pop_front() {
            None => Poll::Ready(None),
            Some(Step::Data(text)) => Poll::Ready(Some(Ok(Frame::data(text.into())))),
            Some(Step::Pause) => {
                let mut pause = Box::pin(tokio::time::sleep(PAUSE));
                // The first look registers the waker; a pause that is over at once is no pause.
                let _ = pause.as_mut().poll(cx);
                body.pause = Some(pause);
                Poll::Pending
            }
            Some(Step::Silence) => {
                // Nobody wakes this up: the connection ends with one of its two sides.
                body.steps.push_front(Step::Silence);
                Poll::Pending
            }
            Some(Step::Abort) => Poll::Ready(Some(Err(io::ErrorKind::ConnectionReset.into()))),
        }
    }
}
