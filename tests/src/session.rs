//! One client process that takes several prompts (`--input-format stream-json`), and can be killed.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    os::unix::process::CommandExt as _,
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread::{self, JoinHandle},
    time::Duration,
};

use serde_json::{Value, json};

use crate::{
    process::{self, ProcessMark},
    wait::{try_wait_for, wait_for},
};

const TURN_LIMIT: Duration = Duration::from_secs(90);
const END_LIMIT: Duration = Duration::from_secs(30);

/// A running session.
pub struct Session {
    child: Child,
    input: Option<ChildStdin>,
    messages: Arc<Mutex<Vec<Value>>>,
    reader: Option<JoinHandle<()>>,
    turns: usize,
}

impl Session {
    pub(crate) fn start(mut command: Command, args: &[&str]) -> Self {
        let mut child = command
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .expect("the client starts");
        let output = child.stdout.take().expect("it was asked for");
        let messages = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&messages);
        let reader = thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if let Ok(message) = serde_json::from_str(&line) {
                    seen.lock().unwrap_or_else(PoisonError::into_inner).push(message);
                }
            }
        });
        Self { input: child.stdin.take(), child, messages, reader: Some(reader), turns: 0 }
    }

    /// Process id of the client.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a prompt and waits for the end of its turn. Returns the client's `result` message.
    #[track_caller]
    pub fn prompt(&mut self, text: &str) -> Value {
        self.send(text);
        self.turns += 1;
        let turn = self.turns;
        let mut ended = false;
        wait_for(TURN_LIMIT, &format!("the end of turn {turn} ({text:?})"), || {
            let result = self.results().into_iter().nth(turn - 1);
            if result.is_none() {
                assert!(!ended, "the client ended before turn {turn} did: {:?}", self.messages());
                ended = matches!(self.child.try_wait(), Ok(Some(_)))
                    && self.reader.as_ref().is_none_or(JoinHandle::is_finished);
            }
            result
        })
    }

    /// Sends a prompt and does not wait.
    pub fn send(&mut self, text: &str) {
        let message = json!({
            "type": "user",
            "message": { "role": "user", "content": [{ "type": "text", "text": text }] },
        });
        let input = self.input.as_mut().expect("the session has not been ended");
        writeln!(input, "{message}").and_then(|()| input.flush()).expect("the client reads its input");
    }

    /// Everything the client has said so far.
    pub fn messages(&self) -> Vec<Value> {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The session's id, once the client has named it.
    #[track_caller]
    pub fn id(&self) -> String {
        wait_for(TURN_LIMIT, "the session's id", || {
            self.messages().iter().find_map(|message| message["session_id"].as_str().map(str::to_owned))
        })
    }

    fn results(&self) -> Vec<Value> {
        self.messages().into_iter().filter(|message| message["type"] == "result").collect()
    }

    /// Ends the input and waits for the client.
    #[track_caller]
    pub fn end(mut self) -> ExitStatus {
        drop(self.input.take());
        process::wait(&mut self.child, END_LIMIT).expect("the client ends after its input")
    }

    /// Kills the client alone with SIGKILL, as a crash does. Its children are ended afterwards, when the client is
    /// gone and cannot see it any more.
    pub fn kill(mut self) {
        let family = process::descendants(self.child.id());
        let _ = self.child.kill();
        let _ = self.child.wait();
        family.iter().for_each(ProcessMark::kill);
        let gone = try_wait_for(END_LIMIT, || family.iter().all(|process| !process.is_alive()).then_some(()));
        assert!(gone.is_some(), "children of the killed client live on: {family:?}");
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let family = process::descendants(self.child.id());
        process::kill_group(&mut self.child);
        family.iter().for_each(ProcessMark::kill);
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}
