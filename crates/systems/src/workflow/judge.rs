//! What the files of a workflow mean together. No files, no clock: [`judge`] is a function of what was read.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rules::text;
use session_state::{Now, times};

use super::artifact::Presence;
use super::gate::Outcome;
use super::phase_plan::PhasePlan;
use super::places::Keys;
use super::plan::{Plan, PlanStep};
use super::reader::{GateFile, Listed, Material};
use super::registry::Validation;
use super::run::{QueuedTask, Run};
use super::state::{
    ArtifactState, Avoid, Decision, Dependency, Gap, Input, Missing, Next, PhaseState, PlanPresence,
    PlanState, Question, Readiness, RunState, SCHEMA, Source, State, StepState, Warning,
};
use super::step::{Step, ranges};

/// Characters of a name that is shown.
pub(crate) const NAME_CHARS: usize = 120;
/// Characters of a sentence that is shown.
const TEXT_CHARS: usize = 300;
/// Reasons of one gate that are shown.
const MAX_ERRORS: usize = 5;

fn name(text: &str) -> String {
    text::safe_line(text, NAME_CHARS)
}

fn sentence(text: &str) -> String {
    text::safe_line(text, TEXT_CHARS)
}

fn names(texts: &[String]) -> Vec<String> {
    texts.iter().map(|text| name(text)).collect()
}

fn sentences(texts: &[String]) -> Vec<String> {
    texts.iter().map(|text| sentence(text)).collect()
}

/// What the gates of one step say together.
#[derive(Debug)]
struct Verdict<'m> {
    outcome: Outcome,
    /// The gate that decides.
    gate: &'m GateFile,
    /// The agents do not agree.
    split: bool,
    /// An older gate said otherwise.
    changed: bool,
}

/// Folds the gates of each step. The newest word of each agent counts, and all of them have to pass; a gate that names
/// no agent speaks for all. Of two gates of the same second the worse one counts.
fn verdicts(gates: &[GateFile]) -> BTreeMap<Step, Verdict<'_>> {
    let mut by_step: BTreeMap<Step, Vec<&GateFile>> = BTreeMap::new();
    for file in gates {
        by_step.entry(file.gate.step).or_default().push(file);
    }
    by_step.into_iter().filter_map(|(step, files)| Some((step, fold(files)?))).collect()
}

fn fold(mut files: Vec<&GateFile>) -> Option<Verdict<'_>> {
    files.sort_by_key(|file| (file.time_s, file.gate.outcome));
    let mut latest: BTreeMap<Option<&str>, &GateFile> = BTreeMap::new();
    for &file in &files {
        match &file.gate.agent {
            None => latest.clear(),
            Some(_) => {
                latest.remove(&None);
            }
        }
        latest.insert(file.gate.agent.as_deref(), file);
    }
    let gate = latest.values().copied().max_by_key(|file| (file.gate.outcome, file.time_s))?;
    let outcome = gate.gate.outcome;
    Some(Verdict {
        outcome,
        gate,
        split: latest.values().any(|other| other.gate.outcome != outcome),
        changed: files.iter().any(|other| other.gate.outcome != outcome),
    })
}

/// Judges what was read. `id` is what was asked for, `now` the present.
pub(crate) fn judge(id: &str, keys: &Keys, material: &Material, now: Now) -> State {
    let verdicts = verdicts(&material.gates);
    let no_plan = Plan::default();
    let plan = material.plan.as_ref().map_or(&no_plan, |file| &file.plan);
    let no_run = Run::default();
    let run = material.run.as_ref().map_or(&no_run, |(_, run)| run);
    let mut warnings = material.warnings.clone();
    let mut makers = HashMap::new();
    for listed in &material.entries {
        if let (Some(step), Some(agent)) = (listed.entry.step, listed.entry.agent.as_deref()) {
            makers.entry(step).or_insert(agent);
        }
    }
    let mut queue: BTreeMap<Step, Vec<&QueuedTask>> = BTreeMap::new();
    for task in &run.tasks {
        queue.entry(task.step).or_default().push(task);
    }
    let facts = Facts { verdicts: &verdicts, plan, run, material, queue, makers };

    let (last, source) = facts.last_completed();
    let sequence = facts.sequence();
    let contiguous = facts.last_contiguous(&sequence, source);
    let next_step = facts.next(last, &sequence, source);
    let reasoned: BTreeSet<Step> = material.reasoning.iter().map(|one| one.step).collect();
    let gaps = facts.gaps(last, source, &sequence, &reasoned);
    facts.warn(&mut warnings, last, source, &sequence, now);
    let next = facts.next_state(next_step, last, &sequence);

    let mut artifacts: Vec<&Listed> = material.entries.iter().collect();
    artifacts.sort_by_key(|listed| (listed.entry.step.is_none(), listed.entry.step));
    let artifacts: Vec<ArtifactState> = artifacts.into_iter().map(|listed| facts.artifact(listed)).collect();
    for artifact in &artifacts {
        if artifact.presence == Presence::Outside || artifact.presence == Presence::Unreadable {
            let why = artifact.why.as_deref().unwrap_or("cannot be read");
            let text = format!("artifact {} {why}: not read", artifact.name);
            warnings.push(Warning { kind: "artifact_not_read", step: artifact.step, text });
        } else if let (Presence::Present, Some(size), Some(recorded)) =
            (artifact.presence, artifact.size, artifact.recorded_size)
            && size < recorded
            && !artifact.path.as_deref().is_some_and(|path| path.ends_with(".json"))
        {
            // JSON that parses is not cut off; of other text nobody can tell.
            let text = format!(
                "artifact {} has {size} bytes, {recorded} are recorded: cut off or changed",
                artifact.name
            );
            warnings.push(Warning { kind: "artifact_size", step: artifact.step, text });
        }
    }
    let missing = artifacts.iter().filter(|artifact| artifact.presence == Presence::Missing);
    let missing_artifacts = missing.map(|artifact| artifact.name.clone()).collect();
    let mut damaged: Vec<String> = Vec::new();
    for file in &material.damaged {
        let last_part = file.path.rsplit('/').next().unwrap_or(&file.path);
        damaged.push(name(last_part));
    }
    damaged.sort();
    damaged.dedup();
    let mut damaged_files = material.damaged.clone();
    damaged_files.sort_by(|one, other| one.path.cmp(&other.path));
    for file in &mut damaged_files {
        file.path = name(&file.path);
    }

    let mut reasoning: Vec<_> = material.reasoning.iter().collect();
    reasoning.sort_by_key(|one| one.step);
    let decisions = reasoning.iter().flat_map(|one| {
        one.decisions.iter().map(|decided| Decision {
            step: one.step,
            agent: one.agent.as_deref().map(name),
            decision: sentence(&decided.decision),
            rationale: decided.rationale.as_deref().map(sentence),
        })
    });
    let questions = reasoning.iter().flat_map(|one| {
        one.open_questions.iter().map(|question| Question { step: one.step, question: sentence(question) })
    });
    let phase = facts.phase(&mut warnings);
    State {
        schema: SCHEMA,
        id: id.to_owned(),
        workflow_id: run.workflow_id.as_deref().filter(|workflow| *workflow != id).map(name),
        run_id: keys.run.clone(),
        name: plan.name.as_deref().map(name),
        last_completed_step: last,
        last_completed_source: source,
        last_contiguous_step: contiguous,
        next_step,
        next,
        steps: facts.steps(&sequence, &reasoned),
        plan: facts.plan_state(),
        phase,
        run: material.run.as_ref().map(|(path, run)| RunState {
            path: path.clone(),
            status: run.status.as_deref().map(name),
            current_step: run.current_step,
            last_sign: run.last_sign_s.map(times::rfc3339_utc_s),
            age_s: run.silence_s(now),
            interrupted: run.is_interrupted(now),
        }),
        checkpoint_step: material.checkpoint,
        missing_artifacts,
        artifacts,
        damaged,
        damaged_files,
        gaps,
        warnings,
        decisions: decisions.collect(),
        open_questions: questions.collect(),
        ignored: names(&material.ignored),
    }
}

/// Everything the questions below are about.
struct Facts<'m> {
    verdicts: &'m BTreeMap<Step, Verdict<'m>>,
    plan: &'m Plan,
    run: &'m Run,
    material: &'m Material,
    /// The queue of the run by steps.
    queue: BTreeMap<Step, Vec<&'m QueuedTask>>,
    /// Who made an artifact in a step.
    makers: HashMap<Step, &'m str>,
}

/// The steps there are to be, and where they are known from.
#[derive(Debug, PartialEq, Eq)]
struct Sequence {
    /// In their order; gates of steps that nobody listed stand among them.
    steps: Vec<Step>,
    /// Whether the plan or the queue lists them all; else they are only what gates exist.
    is_whole: bool,
}

impl Facts<'_> {
    fn passed(&self, step: Step) -> bool {
        self.verdicts.get(&step).is_some_and(|verdict| verdict.outcome == Outcome::Passed)
    }

    fn plan_step(&self, step: Step) -> Option<&PlanStep> {
        let place = self.plan.steps.binary_search_by_key(&step, |one| one.step).ok()?;
        self.plan.steps.get(place)
    }

    fn queued(&self, step: Step) -> Option<&QueuedTask> {
        self.queue.get(&step)?.first().copied()
    }

    /// Whether the queue says this of every task of a step.
    fn queue_says(&self, step: Step, words: &[&str]) -> bool {
        let says = |task: &&QueuedTask| task.status.as_deref().is_some_and(|status| words.contains(&status));
        self.queue.get(&step).is_some_and(|tasks| tasks.iter().all(says))
    }

    /// Whether the run left a step out, and no gate says otherwise.
    fn is_skipped(&self, step: Step) -> bool {
        !self.verdicts.contains_key(&step) && self.queue_says(step, &["skipped"])
    }

    /// Gates count. Where there is none at all, the records of others are all there is.
    fn last_completed(&self) -> (Option<Step>, Option<Source>) {
        if !self.verdicts.is_empty() {
            let last = self.verdicts.keys().rev().copied().find(|step| self.passed(*step));
            return (last, last.map(|_| Source::Gates));
        }
        if let Some(step) = self.material.checkpoint {
            return (Some(step), Some(Source::Checkpoint));
        }
        let is_done = |status: &Option<String>| status.as_deref() == Some("completed");
        let queue = self.queue.keys().rev().copied().find(|step| self.queue_says(*step, &["completed"]));
        if let Some(step) = queue {
            return (Some(step), Some(Source::Run));
        }
        let plan = self.plan.steps.iter().rev().find(|step| is_done(&step.status)).map(|step| step.step);
        (plan, plan.map(|_| Source::Plan))
    }

    fn sequence(&self) -> Sequence {
        let listed: BTreeSet<Step> = if self.plan.steps.is_empty() {
            self.queue.keys().copied().collect()
        } else {
            self.plan.steps.iter().map(|step| step.step).collect()
        };
        let is_whole = !listed.is_empty();
        let known = self.verdicts.keys().chain(&self.material.unread_gates).copied();
        Sequence {
            steps: listed.into_iter().chain(known).collect::<BTreeSet<_>>().into_iter().collect(),
            is_whole,
        }
    }

    /// Whether a step counts as done, by what the last completed step is known from.
    fn is_done(&self, step: Step, source: Option<Source>) -> bool {
        let says_completed = |status: Option<&String>| status.is_some_and(|status| status == "completed");
        match source {
            Some(Source::Gates) => self.passed(step) || self.is_skipped(step),
            Some(Source::Checkpoint) => self.material.checkpoint.is_some_and(|last| step <= last),
            Some(Source::Run) => self.queue_says(step, &["completed", "skipped"]),
            Some(Source::Plan) => says_completed(self.plan_step(step).and_then(|step| step.status.as_ref())),
            None => false,
        }
    }

    /// Where nobody lists the steps, whole numbers follow each other from 0, or from 1 if there is no 0.
    fn last_contiguous(&self, sequence: &Sequence, source: Option<Source>) -> Option<Step> {
        if source == Some(Source::Checkpoint) && !sequence.is_whole {
            return self.material.checkpoint;
        }
        let mut last: Option<Step> = None;
        let mut whole: Option<u32> = None;
        for &step in &sequence.steps {
            if !sequence.is_whole {
                let expected = whole.map_or_else(|| u32::from(step > Step::whole(0)), |number| number + 1);
                match step.as_whole() {
                    Some(number) if number > expected => break,
                    // A sub-step stands behind its whole step.
                    None if step > Step::whole(expected) => break,
                    Some(number) => whole = Some(number),
                    None => {}
                }
            }
            if !self.is_done(step, source) {
                break;
            }
            // What was left out is no gap, and did not pass either.
            if !self.is_skipped(step) {
                last = Some(step);
            }
        }
        last
    }

    fn next(&self, last: Option<Step>, sequence: &Sequence, source: Option<Source>) -> Option<Step> {
        let is_open = |step: &Step| !self.is_done(*step, source);
        let above = sequence.steps.iter().copied().filter(|step| last.is_none_or(|last| *step > last));
        let above = above.into_iter().find(is_open);
        if sequence.is_whole {
            // Nothing open above: what was left out below has to be made good.
            return above.or_else(|| sequence.steps.iter().copied().find(is_open));
        }
        if self.run.status.as_deref() == Some("completed") {
            return above;
        }
        let following = last.map(Step::next_whole);
        match (above, following) {
            (Some(above), Some(following)) => Some(above.min(following)),
            (above, following) => above.or(following).or(self.run.current_step),
        }
    }

    /// Gates that are missing below the last completed step.
    fn gate_gaps(&self, last: Step, source: Option<Source>, sequence: &Sequence) -> Vec<Gap> {
        let mut gaps = Vec::new();
        if sequence.is_whole {
            let has_gate = |step: &Step| {
                self.verdicts.contains_key(step)
                    || self.material.unread_gates.contains(step)
                    || self.is_skipped(*step)
            };
            let missing = sequence.steps.iter().copied().filter(|step| *step <= last && !has_gate(step));
            collect(&mut gaps, "gate", missing);
        } else if source == Some(Source::Gates) {
            let whole = sequence.steps.iter().filter_map(|step| step.as_whole());
            let mut expected = None;
            for number in whole.filter(|number| Step::whole(*number) <= last) {
                let first = expected.unwrap_or_else(|| u32::from(number > 0));
                if number > first {
                    gaps.push(Gap { kind: "gate", from: Step::whole(first), to: Step::whole(number - 1) });
                }
                expected = Some(number + 1);
            }
        }
        gaps
    }

    fn gaps(
        &self,
        last: Option<Step>,
        source: Option<Source>,
        sequence: &Sequence,
        reasoned: &BTreeSet<Step>,
    ) -> Vec<Gap> {
        let Some(last) = last else { return Vec::new() };
        let mut gaps = self.gate_gaps(last, source, sequence);
        let is_silent = |step: &Step| {
            *step <= last
                && self.is_done(*step, source)
                && !self.is_skipped(*step)
                && !reasoned.contains(step)
        };
        collect(&mut gaps, "reasoning", sequence.steps.iter().copied().filter(is_silent));
        gaps
    }

    fn warn(
        &self,
        warnings: &mut Vec<Warning>,
        last: Option<Step>,
        source: Option<Source>,
        sequence: &Sequence,
        now: Now,
    ) {
        let mut add = |kind: &'static str, step: Option<Step>, text: String| {
            warnings.push(Warning { kind, step, text });
        };
        for file in &self.material.gates {
            let path = name(&file.path);
            let step = Some(file.gate.step);
            if file.gate.contradicts_itself {
                add(
                    "gate_contradicts_itself",
                    step,
                    format!("{path} says both passed and failed: not passed"),
                );
            }
            if let Some(named) = file.gate.named_step {
                let text = format!("{path} is named after step {named} but is about step {}", file.gate.step);
                add("gate_name", step, text);
            }
        }
        for (&step, verdict) in self.verdicts {
            if verdict.split {
                let agent = verdict.gate.gate.agent.as_deref().map_or_else(|| "one gate".to_owned(), name);
                let text = format!("step {step} passed at one gate but not at that of {agent}: not passed");
                add("gates_disagree", Some(step), text);
            } else if verdict.changed {
                let says = verdict.outcome.word();
                let text = format!("step {step} has gates that disagree: the newest counts ({says})");
                add("gate_changed", Some(step), text);
            }
        }
        if let Some(last) = last.filter(|_| source == Some(Source::Gates)) {
            let below = sequence.steps.iter().copied().filter(|step| *step < last && !self.passed(*step));
            let (failed, rest): (Vec<Step>, Vec<Step>) =
                below.partition(|step| self.verdicts.contains_key(step));
            let is_unread = |step: &Step| self.material.unread_gates.contains(step);
            let unread: Vec<Step> = rest.into_iter().filter(is_unread).collect();
            let missing = self.gate_gaps(last, source, sequence);
            if !failed.is_empty() {
                let text = format!("step {last} passed although step {} did not", ranges(&failed));
                add("passed_above_failed", Some(last), text);
            }
            if !missing.is_empty() {
                let missing: Vec<String> = missing.iter().map(Gap::to_string).collect();
                let text =
                    format!("step {last} passed, but there is no gate for step {}", missing.join(", "));
                add("passed_above_missing", Some(last), text);
            }
            if !unread.is_empty() {
                let text =
                    format!("step {last} passed, but the gate of step {} cannot be read", ranges(&unread));
                add("passed_above_unread", Some(last), text);
            }
        }
        if let (Some(last), Some(source)) = (last, source.filter(|source| *source != Source::Gates)) {
            let who = match source {
                Source::Checkpoint => "the checkpoint",
                Source::Run => "the queue of the run",
                Source::Plan | Source::Gates => "the plan",
            };
            let text = format!("only {who} says that step {last} is completed: there is no gate");
            add("not_confirmed_by_a_gate", Some(last), text);
        }
        for step in &self.plan.steps {
            let says = step.status.as_deref();
            match (says, self.verdicts.get(&step.step)) {
                (Some("completed"), Some(verdict)) if verdict.outcome != Outcome::Passed => {
                    let text =
                        format!("the plan calls step {} completed, but its gate did not pass", step.step);
                    add("plan_ahead_of_gates", Some(step.step), text);
                }
                (Some("completed"), None) if !self.verdicts.is_empty() => {
                    let text = format!("the plan calls step {} completed, but it has no gate", step.step);
                    add("plan_ahead_of_gates", Some(step.step), text);
                }
                (Some("completed"), _) => {}
                (_, Some(verdict)) if verdict.outcome == Outcome::Passed => {
                    let says = name(says.unwrap_or("without a status"));
                    let text = format!("step {} is {says} in the plan although its gate passed", step.step);
                    add("plan_behind_gates", Some(step.step), text);
                }
                _ => {}
            }
        }
        if !self.plan.repeated.is_empty() {
            let mut repeated = self.plan.repeated.clone();
            repeated.sort_unstable();
            repeated.dedup();
            let text =
                format!("the plan has several steps with the number {}: the first counts", ranges(&repeated));
            add("plan_repeats_step", None, text);
        }
        if self.plan.unnumbered > 0 {
            let text = format!("{} steps of the plan have no number: left out", self.plan.unnumbered);
            add("plan_unnumbered", None, text);
        }
        if source == Some(Source::Gates)
            && let Some(checkpoint) = self.material.checkpoint
            && Some(checkpoint) != last
        {
            let text = format!("the checkpoint says step {checkpoint}: the gates count");
            add("checkpoint_disagrees", Some(checkpoint), text);
        }
        if let Some(status) = self.run.status.as_deref() {
            let open = sequence.steps.iter().any(|step| !self.is_done(*step, source));
            if status == "completed" && open {
                add(
                    "run_ahead_of_gates",
                    None,
                    "the run calls itself completed, but not every step passed".to_owned(),
                );
            }
            if let (true, Some(age)) = (self.run.is_interrupted(now), self.run.silence_s(now)) {
                let text = format!("the run is {} but has been silent for {}", name(status), text::age(age));
                add("run_interrupted", self.run.current_step, text);
            }
            if matches!(status, "failed" | "cancelled" | "paused" | "awaiting_approval" | "handoff_pending") {
                add("run_status", self.run.current_step, format!("the run is {}", status.replace('_', " ")));
            }
        }
        if let Some(approval) = self.plan.approval.as_deref().filter(|approval| *approval != "approved") {
            add(
                "plan_not_approved",
                None,
                format!("the plan is not approved: {}", name(approval).replace('_', " ")),
            );
        }
    }

    fn agent_of(&self, step: Step) -> Option<String> {
        let listed = self.plan_step(step).and_then(|step| step.agent.as_deref());
        let queued = self.queued(step).and_then(|task| task.agent.as_deref());
        let owner = self.run.owners.iter().find(|(owned, _)| *owned == step).map(|(_, agent)| agent.as_str());
        let gate = self.verdicts.get(&step).and_then(|verdict| verdict.gate.gate.agent.as_deref());
        let maker = self.makers.get(&step).copied();
        listed.or(queued).or(owner).or(gate).or(maker).map(name)
    }

    fn artifact(&self, listed: &Listed) -> ArtifactState {
        let entry = &listed.entry;
        let looked = &listed.looked;
        let shown_name = name(&entry.name);
        let agent =
            entry.agent.as_deref().map(name).or_else(|| entry.step.and_then(|step| self.agent_of(step)));
        let who = agent.clone().unwrap_or_else(|| "its source agent".to_owned());
        let remedy = match looked.presence {
            Presence::Missing => Some(format!("{who} makes {shown_name} again")),
            Presence::Corrupt => Some(format!("{who} makes {shown_name} again, with validation")),
            Presence::Outside | Presence::Unreadable => {
                Some(format!("put {shown_name} into the project, or correct its path in the registry"))
            }
            Presence::Present | Presence::NotChecked => None,
        };
        ArtifactState {
            name: shown_name,
            step: entry.step,
            agent,
            path: looked.path.as_deref().map(name),
            validation: entry.validation,
            presence: looked.presence,
            why: looked.why.clone(),
            size: looked.size,
            recorded_size: entry.size,
            remedy,
        }
    }

    fn next_state(&self, step: Option<Step>, last: Option<Step>, sequence: &Sequence) -> Next {
        let mut next = Next {
            step,
            state: Readiness::Blocked,
            name: None,
            agent: None,
            tasks: Vec::new(),
            success_criteria: Vec::new(),
            dependencies: Vec::new(),
            inputs: Vec::new(),
            missing: Vec::new(),
            failed_with: Vec::new(),
        };
        if let Some(remedy) = self.plan_state().remedy {
            let waits = matches!(self.plan_presence(), PlanPresence::Missing | PlanPresence::Damaged);
            if waits && !sequence.is_whole {
                let agent = Some("planner".to_owned());
                next.missing.push(Missing { kind: "plan", name: "plan".to_owned(), agent, remedy });
            }
        }
        let Some(step) = step else {
            let run_is_done = self.run.status.as_deref() == Some("completed");
            if last.is_some() && (sequence.is_whole || run_is_done) {
                next.state = Readiness::Complete;
                next.missing.clear();
            }
            return next;
        };
        next.agent = self.agent_of(step);
        if let Some(verdict) = self.verdicts.get(&step) {
            let errors = verdict.gate.gate.errors.iter().take(MAX_ERRORS);
            next.failed_with = errors.map(|error| sentence(error)).collect();
        }
        let listed = self.plan_step(step);
        if let Some(listed) = listed {
            next.name = listed.name.as_deref().map(name);
            next.tasks = sentences(&listed.tasks);
            next.success_criteria = sentences(&listed.success_criteria);
            if listed.status.as_deref() == Some("blocked") {
                next.missing.push(Missing {
                    kind: "status",
                    name: format!("step {step}"),
                    agent: next.agent.clone(),
                    remedy: format!("the plan calls step {step} blocked: remove what blocks it"),
                });
            }
        }
        if let Some(approval @ ("rejected" | "requires_changes")) = self.plan.approval.as_deref() {
            next.missing.push(Missing {
                kind: "approval",
                name: "plan".to_owned(),
                agent: Some("planner".to_owned()),
                remedy: format!("the plan is {}: planner changes it", approval.replace('_', " ")),
            });
        }
        let wanted = self.depend(step, &mut next);
        self.inputs(step, last, wanted, &mut next);
        if next.missing.is_empty() {
            next.state = Readiness::Ready;
        }
        next
    }

    /// Fills in what has to be done before; returns names of artifacts among it, and steps.
    fn depend(&self, step: Step, next: &mut Next) -> (Vec<String>, Vec<Step>) {
        let mut artifacts: Vec<String> = Vec::new();
        let mut steps: Vec<Step> = Vec::new();
        let listed = self.plan_step(step);
        let named = listed.map(|listed| listed.dependencies.clone()).unwrap_or_default();
        for dependency in named {
            match Step::parse(&dependency) {
                Some(before) => {
                    let done =
                        self.passed(before) || self.verdicts.is_empty() && self.is_done_by_record(before);
                    next.dependencies.push(Dependency { name: name(&dependency), step: Some(before), done });
                    steps.push(before);
                }
                None => artifacts.push(dependency),
            }
        }
        if listed.is_none()
            && let Some(task) = self.queued(step)
        {
            for dependency in &task.dependencies {
                let before = self.run.tasks.iter().find(|other| other.id.as_ref() == Some(dependency));
                let before_step = before.map(|task| task.step).or_else(|| Step::parse(dependency));
                let says_done = before
                    .is_some_and(|task| matches!(task.status.as_deref(), Some("completed" | "skipped")));
                let done = before_step.is_some_and(|step| match self.verdicts.get(&step) {
                    Some(verdict) => verdict.outcome == Outcome::Passed,
                    None => says_done,
                });
                steps.extend(before_step);
                next.dependencies.push(Dependency { name: name(dependency), step: before_step, done });
            }
        }
        for dependency in next.dependencies.iter().filter(|dependency| !dependency.done) {
            let agent = dependency.step.and_then(|step| self.agent_of(step));
            let who = agent.as_deref().unwrap_or("its agent");
            next.missing.push(Missing {
                kind: "step",
                name: dependency.name.clone(),
                remedy: format!("{} has to pass first: {who}", dependency.name),
                agent,
            });
        }
        artifacts.extend(listed.map(|listed| listed.inputs.clone()).unwrap_or_default());
        (artifacts, steps)
    }

    fn is_done_by_record(&self, step: Step) -> bool {
        self.is_done(step, self.last_completed().1)
    }

    /// Artifacts a step works with: those it names, those its own artifacts were to be made of, those of the steps it
    /// depends on; where nothing is named, those of the last completed step.
    fn inputs(&self, step: Step, last: Option<Step>, wanted: (Vec<String>, Vec<Step>), next: &mut Next) {
        let (mut wanted, mut from_steps) = wanted;
        let of_step =
            |step: Step| self.material.entries.iter().filter(move |listed| listed.entry.step == Some(step));
        for listed in of_step(step) {
            for dependency in &listed.entry.dependencies {
                match Step::parse(dependency) {
                    Some(before) => from_steps.push(before),
                    None => wanted.push(dependency.clone()),
                }
            }
        }
        if wanted.is_empty() && from_steps.is_empty() && self.plan_step(step).is_none() {
            from_steps.extend(last);
        }
        for before in from_steps {
            let good = of_step(before).filter(|listed| listed.entry.validation == Validation::Pass);
            wanted.extend(good.map(|listed| listed.entry.name.clone()));
        }
        let by_name: HashMap<&str, &Listed> =
            self.material.entries.iter().map(|listed| (listed.entry.name.as_str(), listed)).collect();
        let mut seen = BTreeSet::new();
        for wanted in wanted.into_iter().filter(|wanted| seen.insert(wanted.clone())) {
            let listed = by_name.get(wanted.as_str()).copied();
            let state = listed.map(|listed| self.artifact(listed));
            let available = state.as_ref().is_some_and(|state| state.presence == Presence::Present);
            let path = state.as_ref().and_then(|state| state.path.clone());
            let shown_name = name(&wanted);
            if !available {
                let agent = state.as_ref().and_then(|state| state.agent.clone());
                let remedy = match &state {
                    None => format!("{shown_name} is not in the registry"),
                    Some(state) => state.remedy.clone().unwrap_or_else(|| {
                        format!(
                            "{shown_name} has not been found good yet: {}",
                            agent.as_deref().unwrap_or("its agent")
                        )
                    }),
                };
                next.missing.push(Missing { kind: "artifact", name: shown_name.clone(), agent, remedy });
            }
            next.inputs.push(Input { name: shown_name, path, available });
        }
    }

    fn plan_presence(&self) -> PlanPresence {
        match (&self.material.plan, &self.material.damaged_plan) {
            (Some(file), _) if !file.plan.steps.is_empty() => PlanPresence::Present,
            (_, Some(_)) => PlanPresence::Damaged,
            (Some(_), None) => PlanPresence::WithoutSteps,
            (None, None) => PlanPresence::Missing,
        }
    }

    fn plan_state(&self) -> PlanState {
        let state = self.plan_presence();
        let file = self.material.plan.as_ref();
        let remedy = match state {
            PlanPresence::Present => None,
            // The queue of a run lists the steps as well.
            PlanPresence::WithoutSteps if !self.run.tasks.is_empty() => None,
            PlanPresence::WithoutSteps => Some("the plan lists no steps: ask planner to add them".to_owned()),
            PlanPresence::Damaged => {
                Some("the plan cannot be read: ask planner to make it again from the requirements".to_owned())
            }
            PlanPresence::Missing => {
                Some("there is no plan: ask planner to make one from the requirements".to_owned())
            }
        };
        let path = match state {
            PlanPresence::Damaged => self.material.damaged_plan.as_deref(),
            _ => file.map(|file| file.path.as_str()),
        };
        PlanState {
            state,
            path: path.map(name),
            approval: self.plan.approval.as_deref().map(name),
            status: self.plan.status.as_deref().map(name),
            remedy,
        }
    }

    fn steps(&self, sequence: &Sequence, reasoned: &BTreeSet<Step>) -> Vec<StepState> {
        let state = |&step: &Step| {
            let listed = self.plan_step(step);
            let verdict = self.verdicts.get(&step);
            let not_passed = verdict.filter(|verdict| verdict.outcome != Outcome::Passed);
            StepState {
                step,
                name: listed.and_then(|listed| listed.name.as_deref()).map(name),
                agent: self.step_agent(step, listed, verdict),
                gate: verdict.map(|verdict| verdict.outcome),
                gate_path: verdict.map(|verdict| name(&verdict.gate.path)),
                gate_time: verdict.and_then(|verdict| verdict.gate.gate.time_s).map(times::rfc3339_utc_s),
                errors: not_passed
                    .map(|verdict| {
                        verdict
                            .gate
                            .gate
                            .errors
                            .iter()
                            .take(MAX_ERRORS)
                            .map(|error| sentence(error))
                            .collect()
                    })
                    .unwrap_or_default(),
                plan_status: listed.and_then(|listed| listed.status.as_deref()).map(name),
                has_reasoning: reasoned.contains(&step),
            }
        };
        sequence.steps.iter().map(state).collect()
    }

    fn step_agent(
        &self,
        step: Step,
        listed: Option<&PlanStep>,
        verdict: Option<&Verdict<'_>>,
    ) -> Option<String> {
        let listed = listed.and_then(|listed| listed.agent.as_deref());
        let gate = verdict.and_then(|verdict| verdict.gate.gate.agent.as_deref());
        listed.or(gate).or_else(|| self.queued(step)?.agent.as_deref()).map(name)
    }

    /// The phase in work: the one the plan calls current, else the first that is not completed.
    fn phase(&self, warnings: &mut Vec<Warning>) -> Option<PhaseState> {
        let phases = &self.material.phases;
        let is_done = |plan: &PhasePlan| {
            let all = !plan.tasks.is_empty() && plan.tasks.iter().all(|task| task.is_done());
            plan.status.as_deref() == Some("completed") || all
        };
        let current = self.plan.current_phase.as_deref();
        let by_id = current.and_then(|id| phases.iter().find(|(_, plan)| plan.id.as_deref() == Some(id)));
        let begun = || phases.iter().find(|(_, plan)| plan.status.as_deref() == Some("in_progress"));
        let open = || phases.iter().find(|(_, plan)| !is_done(plan));
        let (path, plan) = by_id.or_else(begun).or_else(open).or(phases.last())?;
        let in_plan = self.plan.phases.iter().find(|phase| phase.id.is_some() && phase.id == plan.id);

        let task = |id: &String| plan.tasks.iter().find(|task| task.id == *id);
        let is_open = |id: &&String| task(id).is_none_or(|task| !task.is_done());
        let resume = plan.resume_point.as_ref();
        let mut point = resume.filter(is_open).or(plan.next_task.as_ref().filter(is_open)).cloned();
        if point.is_none() {
            point = plan.tasks.iter().find(|task| !task.is_done()).map(|task| task.id.clone());
        }
        if let Some(resume) = resume.filter(|resume| !is_open(resume)) {
            let instead = point.as_deref().map_or_else(|| "nothing is open".to_owned(), name);
            let text = format!("the resume point {} is completed already: {instead}", name(resume));
            warnings.push(Warning { kind: "resume_point_done", step: None, text });
        }
        if plan.can_resume == Some(false) {
            let text = "the phase plan says that it cannot be resumed".to_owned();
            warnings.push(Warning { kind: "cannot_resume", step: None, text });
        }
        let at = point.as_ref().and_then(task);
        let done = plan.tasks.iter().filter(|task| task.is_done());
        let mut pending: Vec<String> =
            plan.tasks.iter().filter(|task| !task.is_done()).map(|task| name(&task.id)).collect();
        if plan.tasks.is_empty() {
            pending = names(&plan.pending);
        }
        Some(PhaseState {
            id: plan.id.as_deref().or(in_plan.and_then(|phase| phase.id.as_deref())).map(name),
            name: plan.name.as_deref().or(in_plan.and_then(|phase| phase.name.as_deref())).map(name),
            status: plan.status.as_deref().or(in_plan.and_then(|phase| phase.status.as_deref())).map(name),
            path: name(path),
            can_resume: plan.can_resume,
            description: at.and_then(|task| task.description.as_deref()).map(sentence),
            agent: at.and_then(|task| task.agent.as_deref()).map(name),
            files: at.map(|task| names(&task.files)).unwrap_or_default(),
            resume_point: point.as_deref().map(name),
            summary: plan.summary.as_deref().map(sentence),
            completed: done.map(|task| name(&task.id)).collect(),
            pending,
            avoid: plan
                .avoid
                .iter()
                .map(|tried| Avoid {
                    task: tried.task.as_deref().map(name),
                    approach: tried.avoid.as_deref().map(sentence),
                    reason: tried.reason.as_deref().map(sentence),
                    attempts: tried.attempts,
                })
                .collect(),
        })
    }
}

/// Adds steps as ranges of whole numbers that follow each other.
fn collect(gaps: &mut Vec<Gap>, kind: &'static str, steps: impl Iterator<Item = Step>) {
    let begin = gaps.len();
    for step in steps {
        match gaps[begin..].last_mut() {
            Some(gap) if step.follows(gap.to) => gap.to = step,
            _ => gaps.push(Gap { kind, from: step, to: step }),
        }
    }
}
