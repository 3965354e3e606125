//! From the bytes on standard input to a call, for every hook program.

use hook_io::{Intake, Mouth};
use rules::advice::Advice;
use session_state::env::Env;
use session_state::{Now, Project, log};

use crate::call::Call;
use crate::flow::reply;
use crate::quiet;

/// Takes one event in and hands it to `answer`, unless it is a quiet one or there is no place for state.
///
/// `beats`: the program also gives the session's sign of life.
pub fn answer(name: &'static str, beats: bool, mut intake: Intake, answer: fn(&Call<'_>)) {
    let env = Env::process();
    let now = Now::read();
    if env.off() || quiet::call(&mut intake, &env, now, beats) {
        intake.drain();
        return;
    }
    let Some(event) = intake.event() else { return };
    let Some(project) = Project::find(&env, event.cwd.as_deref()) else { return };
    answer(&Call::new(name, &event, &env, &project, now));
}

/// Says what there is to say about the event of a call, in one write.
pub fn say(call: &Call<'_>, advice: &[Advice]) {
    if advice.is_empty() {
        return;
    }
    if let Some(mouth) = Mouth::of(&call.event.name) {
        mouth.say(&reply(advice));
    }
}

/// Notes a panic in the project's log.
pub fn note_panic(message: &str) {
    let env = Env::process();
    if let Some(project) = Project::find(&env, None) {
        let entry = log::Entry { session: "-", pane: "-", error: message, action: "panic", result: "silent" };
        // The process is about to leave; there is nothing else to try.
        let _ = log::write(&project, None, entry, Now::read());
    }
}
