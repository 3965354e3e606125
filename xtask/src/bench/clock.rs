//! Interleaved timing of whole processes: from before the start to after the end, input and output included.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result};

use crate::payloads::{Recorded, SESSION_END};
use crate::ratios::{self, Series};
use crate::tool::Tool;

use super::scene::Scene;

/// Which contestant.
pub(super) type Index = usize;

/// What a program has to do for its time to count.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expected {
    Anything,
    Advice,
    Silence,
}

/// One program on one kind of call.
pub(super) struct Contestant {
    program: PathBuf,
    scene: Scene,
    input: Input,
    expected: Expected,
    /// The session's folder as it was, put back before each run.
    restore: bool,
}

/// What it reads.
enum Input {
    /// The same payload every time.
    Same(Vec<u8>),
    /// The same event in a session that is new each time and is ended afterwards by this hook, untimed.
    NewSession(Recorded, PathBuf),
}

impl Contestant {
    pub(super) fn new(program: &Path, scene: Scene, payload: Vec<u8>) -> Self {
        let program = program.to_owned();
        Self { program, scene, input: Input::Same(payload), expected: Expected::Anything, restore: false }
    }

    pub(super) fn in_new_sessions(program: &Path, scene: Scene, recorded: Recorded, hook: &Path) -> Self {
        let mut contestant = Self::new(program, scene, Vec::new());
        contestant.input = Input::NewSession(recorded, hook.to_owned());
        contestant
    }

    /// Each run finds the session's folder as it is now.
    pub(super) fn restoring_session(mut self) -> Result<Self> {
        self.scene.keep_session()?;
        self.restore = true;
        Ok(self)
    }

    pub(super) fn must_speak(mut self) -> Self {
        self.expected = Expected::Advice;
        self
    }

    pub(super) fn must_be_silent(mut self) -> Self {
        self.expected = Expected::Silence;
        self
    }

    /// What must be done before a run and is no part of it.
    fn prepare(&self) -> Result<()> {
        if self.restore { self.scene.restore_session() } else { Ok(()) }
    }

    /// One run; its time in nanoseconds, and whether it did what it had to.
    #[expect(clippy::cast_precision_loss, reason = "nanoseconds of a run need no more than 52 bits")]
    fn time(&self, number: u32) -> Result<(f64, bool)> {
        let (payload, session) = match &self.input {
            Input::Same(payload) => (payload.clone(), None),
            Input::NewSession(recorded, _) => {
                let session = format!("00000000-0000-4000-b000-{number:012}");
                (self.scene.payload_of(*recorded, &session, number, 0), Some(session))
            }
        };
        let mut command = Command::new(&self.program);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        self.scene.inside_command(&mut command);

        let mut stdout = Vec::new();
        let started = Instant::now();
        let mut child = command.spawn().with_context(|| format!("starting {}", self.program.display()))?;
        if let Some(mut stdin) = child.stdin.take() {
            // The empty program reads nothing: a broken pipe is its way.
            let _ = stdin.write_all(&payload);
        }
        if let Some(mut pipe) = child.stdout.take() {
            pipe.read_to_end(&mut stdout).context("reading a program's output")?;
        }
        child.wait().context("waiting for a program")?;
        let time = started.elapsed().as_nanos() as f64;

        if let (Input::NewSession(_, hook), Some(session)) = (&self.input, session) {
            self.scene.inside(Tool::new(hook)).capture(&self.scene.payload_of(
                SESSION_END,
                &session,
                number,
                0,
            ))?;
            self.scene.forget(&session);
        }
        let did = match self.expected {
            Expected::Anything => true,
            Expected::Advice => String::from_utf8_lossy(&stdout).contains("additionalContext"),
            Expected::Silence => stdout.is_empty(),
        };
        Ok((time, did))
    }

    fn fault(&self) -> &'static str {
        match self.expected {
            Expected::Anything => "",
            Expected::Advice => "gave no advice",
            Expected::Silence => "spoke",
        }
    }
}

/// Contestants that are run by turns.
pub(super) struct Rounds {
    contestants: Vec<Contestant>,
    settle: Contestant,
    rounds: usize,
    series: usize,
}

impl Rounds {
    /// `series` times `rounds` rounds; `settle` runs untimed before each timed run, so that all of them find the
    /// caches as the same predecessor left them.
    pub(super) fn new(settle: Contestant, rounds: usize, series: usize) -> Self {
        Self { contestants: Vec::new(), settle, rounds, series }
    }

    pub(super) fn add(&mut self, contestant: Contestant) -> Index {
        self.contestants.push(contestant);
        self.contestants.len() - 1
    }

    /// Runs all of them.
    ///
    /// A machine that is shared has bad minutes: as long as `enough` says no, further series follow, up to three times
    /// as many.
    pub(super) fn run(self, enough: impl Fn(&Measured) -> bool) -> Result<Measured> {
        let mut measured = Measured { times: Vec::new(), faults: vec![None; self.contestants.len()] };
        measured.times.resize_with(self.contestants.len(), Vec::new);
        let mut number = 1;
        for contestant in &self.contestants {
            contestant.prepare()?;
            contestant.time(0)?;
        }
        for series in 0..3 * self.series {
            if series >= self.series && enough(&measured) {
                break;
            }
            measured.times.iter_mut().for_each(|series| series.push(Series::with_capacity(self.rounds)));
            for round in 0..self.rounds {
                for turn in 0..self.contestants.len() {
                    // Another begins each round: none runs always after the same neighbour's start.
                    let index = (turn + round) % self.contestants.len();
                    let contestant = &self.contestants[index];
                    contestant.prepare()?;
                    self.settle.time(0)?;
                    let (time, did) = contestant.time(number)?;
                    number += 1;
                    if let Some(series) = measured.times[index].last_mut() {
                        series.push(time);
                    }
                    if !did {
                        measured.faults[index] = Some(contestant.fault());
                    }
                }
            }
        }
        Ok(measured)
    }
}

/// The times of all contestants.
pub(super) struct Measured {
    times: Vec<Vec<Series>>,
    faults: Vec<Option<&'static str>>,
}

impl Measured {
    /// The series of one contestant, a time a round, in nanoseconds.
    pub(super) fn series(&self, index: Index) -> &[Series] {
        &self.times[index]
    }

    /// What a contestant did not do in one of its runs.
    pub(super) fn fault(&self, index: Index) -> Option<&'static str> {
        self.faults[index]
    }

    /// The best series' median, in milliseconds.
    pub(super) fn median_ms(&self, index: Index) -> Option<f64> {
        let medians = self.times[index].iter().map(|series| ratios::median(series));
        ratios::best(medians).map(|nanoseconds| nanoseconds / 1e6)
    }
}
