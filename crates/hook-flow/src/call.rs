//! What every decision of a call may look at.

use hook_io::Event;
use session_state::env::Env;
use session_state::{Config, Now, Project};

/// One hook call.
#[derive(Debug)]
pub struct Call<'a> {
    /// The program, as the journal names it.
    pub program: &'static str,
    /// The event.
    pub event: &'a Event<'a>,
    /// The environment.
    pub env: &'a Env,
    /// The project.
    pub project: &'a Project,
    /// The present.
    pub now: Now,
    config: std::cell::OnceCell<Config>,
}

impl<'a> Call<'a> {
    /// Puts a call together.
    #[must_use]
    pub fn new(
        program: &'static str,
        event: &'a Event<'a>,
        env: &'a Env,
        project: &'a Project,
        now: Now,
    ) -> Self {
        Self { program, event, env, project, now, config: std::cell::OnceCell::new() }
    }

    /// The configuration, read when something is about to be said.
    pub fn config(&self) -> &Config {
        self.config.get_or_init(|| Config::read(self.env, self.project))
    }

    /// `@AGENT` inside a subagent, else nothing: the end of a streak's key.
    #[must_use]
    pub fn agent_suffix(&self) -> String {
        self.event.agent_id.as_deref().map_or_else(String::new, |id| format!("@{id}"))
    }
}

/// The client's own text after a usage limit has passed begins so (CONTRACT 10.3).
const CONTINUATION: &str = "Your claude.ai usage limit has reset. Continue the task";
/// A background command or subagent is done (CONTRACT 1, fact 17).
const NOTIFICATION: &str = "<task-notification>";

/// Whether a person wrote a prompt: no field of the event says so.
#[must_use]
pub fn is_persons_prompt(prompt: &str) -> bool {
    let prompt = prompt.trim_start();
    !prompt.starts_with(NOTIFICATION) && !prompt.starts_with(CONTINUATION)
}
