//! The loop.

use std::{
    sync::mpsc::{self, Receiver},
    thread,
    time::Duration,
};

use anyhow::Context as _;
use session_state::{Now, Project, env};
use signal_hook::{consts, iterator::Signals};
use watcher::{
    Machine, Settings, Ticked, Watcher, Which,
    instance::{self, Incumbent},
    world::Clock as _,
};

use super::{Options, status};
use crate::{
    environment::Environment,
    exit_status::ExitStatus,
    hint::{Hinted, hinted},
    platform,
    printer::Printer,
    project,
};

/// Runs until it is asked to stop; one tick with `--once`.
pub(super) fn run(
    options: &Options,
    environment: &Environment,
    printer: &Printer,
) -> anyhow::Result<ExitStatus> {
    let settings = Settings::read(&environment.variables).map_err(|error| {
        Hinted::attach(error, "mend the file, or take its \"watch\" part out: nothing is watched until then")
    })?;
    let which = match &*options.projects {
        [] => Which::Registered,
        given => Which::Given(given_projects(given, environment)?),
    };
    if options.detached {
        platform::leave_terminal().context("cannot leave the terminal")?;
    }
    follow_log(environment);
    let stop = stop_on_signals().context("cannot listen to signals")?;
    // A dry run looks beside the real one, and makes no folder.
    let (folder, instance) = if options.dry_run {
        (instance::present_folder(&environment.variables), None)
    } else {
        let folder = super::folder(environment)?;
        match instance::take(&folder, options.interval, Now::read()).context("cannot take the pid file")? {
            Ok(instance) => (Some(folder), Some(instance)),
            Err(incumbent) => {
                printer.line(already_watching(incumbent.as_ref()));
                return Ok(ExitStatus::Success);
            }
        }
    };
    let machine = Machine::new(environment.variables.clone(), stop, &settings.notify_command);
    let interval = Duration::from_secs(options.interval);
    let variables = environment.variables.clone();
    let mut watcher = Watcher::new(machine, variables, settings, which, interval, folder);
    if options.dry_run {
        watcher = watcher.dry();
    }
    if !options.once {
        printer.line(format_args!(
            "watching every {} s (pid {}); Ctrl-C or `recovery watch stop` ends it",
            options.interval,
            std::process::id()
        ));
    }
    let mut last_trouble = String::new();
    loop {
        let ticked = watcher.tick();
        tell(&ticked, &mut last_trouble, options.once, printer);
        if options.once || !watcher.world.pause(interval) {
            break;
        }
    }
    drop(instance);
    Ok(ExitStatus::Success)
}

fn given_projects(given: &[std::path::PathBuf], environment: &Environment) -> anyhow::Result<Vec<Project>> {
    given.iter().map(|folder| project::find(environment, Some(folder)).map_err(hinted)).collect()
}

/// Names the one who was there first.
pub(super) fn already_watching(incumbent: Option<&Incumbent>) -> String {
    match incumbent {
        Some(one) => format!(
            "already watching: pid {}, since {}",
            one.process.pid,
            session_state::times::local_clock(one.since_s, Now::read())
        ),
        None => "already watching: another process is just starting".to_owned(),
    }
}

/// Prints what a tick did; what cannot be asked is said once, until it changes.
fn tell(ticked: &Ticked, last_trouble: &mut String, once: bool, printer: &Printer) {
    let now = session_state::times::local_clock(Now::read().seconds(), Now::read());
    for line in &ticked.lines {
        printer.line(format_args!("{now} {line}"));
    }
    let snapshot = &ticked.snapshot;
    let trouble = match &*snapshot.troubles {
        [] if !snapshot.has_terminals => {
            "no tmux server is running: no pane is looked at, dead sessions are".to_owned()
        }
        troubles => troubles.join("; "),
    };
    if *last_trouble != trouble {
        if !trouble.is_empty() {
            printer.line(format_args!("{now} {trouble}"));
        }
        *last_trouble = trouble;
    }
    if once {
        let verdicts: Vec<String> =
            snapshot.sessions.iter().map(|(word, count)| format!("{count} {word}")).collect();
        let sessions = if verdicts.is_empty() { "none".to_owned() } else { verdicts.join(", ") };
        printer.line(format_args!("sessions: {sessions}; projects: {}", snapshot.projects.len()));
        for pane in &snapshot.panes {
            printer.line(status::pane_line(pane, Now::read()));
        }
        if ticked.lines.is_empty() {
            printer.line("nothing was due");
        }
    }
}

/// SIGTERM, SIGHUP and Ctrl-C as a message.
fn stop_on_signals() -> std::io::Result<Receiver<()>> {
    let mut signals = Signals::new([consts::SIGTERM, consts::SIGINT, consts::SIGHUP])?;
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        // One is enough; the watcher ends between two steps.
        if signals.forever().next().is_some() {
            let _ = sender.send(());
        }
        // Held until the process ends: a closed channel means stop, too.
        thread::park();
    });
    Ok(receiver)
}

/// Diagnostics on standard error: warnings, or what `RUST_LOG` asks for.
fn follow_log(environment: &Environment) {
    let filter = tracing_subscriber::EnvFilter::builder()
        .with_default_directive(tracing_subscriber::filter::LevelFilter::WARN.into())
        .parse_lossy(environment.variables.text(env::RUST_LOG).unwrap_or_default());
    let subscriber = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    // A second verb in one process would be the only way to fail.
    let _ = subscriber.try_init();
}
