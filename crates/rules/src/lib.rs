//! Pure decisions of the recovery hooks: what a failure means, what counts, what to say about it.
//!
//! Nothing here reads a file, a clock or a process, and nothing is built at start: every rule is a plain scan over
//! the text it is given, so a hook pays only for the rule it asks. Times, ages and limits are arguments.
//!
//! | module | answers |
//! |---|---|
//! | [`mcp`] | what does the error text of an MCP call say about the server |
//! | [`api`] | on which kind of API error did a turn end, and when does a limit reset |
//! | [`bash`] | is a failed shell command an outage, an answer, a failed check or none of these |
//! | [`fallback`] | which other tool does the job: the project's table, then the built-in one |
//! | [`model`] | family of a model id and the next larger one |
//! | [`circular`] | is the same fix tried again |
//! | [`failure`] | does an error text tell of a broken build, a failed check, a full context |
//! | [`fact`] | what a line of the journal says |
//! | [`streak`] | what the lines amount to, and which advice is due |
//! | [`liveness`] | is a session alive, from the signs it left |
//! | [`workflow_run`] | was a run of a workflow cut off |
//! | [`change`], [`task_list`] | what is a change, what are its tasks |
//! | [`words`] | does a request hold a word or a phrase |
//! | [`backoff`] | how long to wait before the next try |
//! | [`text`] | one safe short line out of any text |
//! | [`advice`] | every sentence that is ever said to the agent or the person |

pub mod advice;
pub mod api;
pub mod backoff;
pub mod bash;
pub mod change;
pub mod circular;
pub mod fact;
pub mod failure;
pub mod fallback;
pub mod liveness;
pub mod mcp;
pub mod model;
pub mod note;
mod scan;
pub mod streak;
pub mod task_list;
pub mod text;
pub mod words;
pub mod workflow_run;
