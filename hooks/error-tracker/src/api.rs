//! API errors: recorded at StopFailure, said when somebody writes again.

use std::path::Path;

use hook_flow::{Call, Known};
use rules::advice::{self, Advice};
use rules::api::{self, ApiClass, ApiError};
use rules::fact::{Fact, What};
use rules::model;
use rules::streak::{Kind, Streak};
use session_state::{Session, log, session_file, transcript, views};

use crate::{evidence, fact};

/// The streak a class belongs to: overload and server errors are one, other kinds stand for themselves.
fn key(class: ApiClass) -> Option<String> {
    let streak = match class {
        ApiClass::Overload | ApiClass::Server => "overload",
        ApiClass::UsageLimit | ApiClass::ModelLimit => "limit",
        ApiClass::OutputLimit | ApiClass::Refused | ApiClass::Other => return None,
        other => other.key(),
    };
    Some(format!("api:{streak}"))
}

pub(crate) fn failed(
    call: &Call<'_>,
    known: &Known<'_>,
    error: Option<&str>,
    details: Option<&str>,
    message: Option<&str>,
) -> Option<Fact<'static>> {
    let class = api::classify(&ApiError { error, details, message });
    if call.event.agent_id.is_some() {
        // The main turn goes on: worth a line in the log, no more.
        let entry = log::Entry {
            session: &call.event.session_id,
            pane: "-",
            error: class.key(),
            action: "subagent-error",
            result: "noted",
        };
        let _ = log::write(call.project, known.session, entry, call.now);
        return None;
    }
    let mut fact = fact(call, What::Api, key(class)?, None);
    fact.cls = class.key().into();
    fact.txt = evidence(message.or(details).or(error).unwrap_or_default()).into();
    Some(fact)
}

pub(crate) fn good_turn(call: &Call<'_>, known: &Known<'_>) -> Option<Fact<'static>> {
    let open = known.state.streaks().iter().any(|streak| streak.open && streak.key.starts_with("api:"));
    open.then(|| {
        let mut fact = fact(call, What::Turn, String::new(), None);
        fact.cls = "good".into();
        fact
    })
}

/// Asks for what is queued, if anything is.
pub(crate) fn turn_begins(call: &Call<'_>, known: &Known<'_>) -> Option<Fact<'static>> {
    known.state.queued().next()?;
    // A start has no id of its own; what it is and whose it is tells a second wiring.
    let start = match &call.event.kind {
        hook_io::Kind::SessionStart { source, .. } if call.event.prompt_id.is_none() => {
            Some(format!("start:{}:{}", source.as_str(), call.env.client_pid().unwrap_or(0)))
        }
        _ => None,
    };
    let mut fact = fact(call, What::Turn, "begin".to_owned(), start.as_deref());
    fact.cls = "prompt".into();
    Some(fact)
}

pub(crate) fn advice(call: &Call<'_>, kind: Kind, streak: &Streak) -> Option<(Advice, String)> {
    let class = ApiClass::from_key(&streak.cls)?;
    let n = u32::try_from(streak.n).unwrap_or(u32::MAX);
    let advice = match (kind, class) {
        (Kind::Model, _) => {
            let next = current_model(call).as_deref().and_then(model::next).unwrap_or_default();
            // Three more turns matter only when there is another model to name.
            if streak.noted(Kind::Model) == Some(next) {
                return None;
            }
            let next_family = (!next.is_empty()).then_some(next);
            return Some((advice::model_overload(n, class, next_family), next.to_owned()));
        }
        (Kind::Network, _) => advice::network(n),
        (Kind::Limit, ApiClass::ModelLimit) => {
            advice::model_limit(model::family(&streak.txt.to_lowercase()), api::reset_phrase(&streak.txt))
        }
        (Kind::Limit, ApiClass::RequestLimit) => advice::request_limit(),
        (Kind::Limit, _) => advice::usage_limit(api::reset_phrase(&streak.txt)),
        _ => advice::permanent(class)?,
    };
    Some((advice, String::new()))
}

/// The model in use: the last real answer in the transcript, else what a payload or another program wrote down.
fn current_model(call: &Call<'_>) -> Option<String> {
    let written =
        call.event.transcript_path.as_deref().and_then(|path| transcript::last_model(Path::new(path)));
    written.or_else(|| {
        let session = Session::open(call.project, &call.event.session_id)?;
        session_file::read(&session.dir)
            .and_then(|file| file.model)
            .or_else(|| views::current_model(&session.dir))
    })
}
