//! `recovery install`: put the programs in place and wire them into a settings file.

use std::path::{Path, PathBuf};

use clap::Args;
use similar::TextDiff;

use crate::{
    backup::{Backup, Before},
    binaries::BinariesPlan,
    client_version::{self, ClientVersion, VersionSource},
    environment::Environment,
    exit_status::ExitStatus,
    hint::{Hinted, hinted},
    printer::Printer,
    scope::{LOCAL_SETTINGS, SETTINGS, Scope, Tracked, tracked_by_git},
    settings::{
        document::{Document, DocumentError},
        file::{FileError, SettingsFile},
        merge::{self, Change, OwnEntry},
    },
    wiring::{CommandForm, Layout, Wiring},
};

/// Install the programs and wire them into the client's settings
///
/// Copies the programs beside this one into a folder of your own and adds one entry an event to the settings. What is
/// in the settings already keeps its place and its bytes; running it again changes nothing. Entries of an earlier
/// install are updated where they stand.
///
/// Written is `.claude/settings.json` of the project, or `.claude/settings.local.json` if git tracks that one: the
/// entries name a folder of this machine.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  recovery install --dry-run                   show the change as a diff; write nothing
  recovery install --project ~/src/shop        wire one project
  recovery install --user                      wire all your projects
  recovery install --shared                    wire the project for the whole team
  recovery install --separate                  four programs instead of one
  recovery install --client-version 2.1.80     write what that version of Claude Code understands")]
pub(crate) struct InstallArguments {
    /// Wire the project in this folder [default: the one around the current folder]
    #[arg(long, value_name = "DIR", conflicts_with = "user")]
    project: Option<PathBuf>,
    /// Wire all your projects: the settings in your own configuration folder
    #[arg(long)]
    user: bool,
    /// Write into settings.json, even if git tracks it, lines that do nothing where the programs are not installed
    #[arg(long, conflicts_with = "user")]
    shared: bool,
    /// Wire the four programs one by one instead of the one that does it all
    #[arg(long)]
    separate: bool,
    /// Show what would be done and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Folder for the programs [default: ~/.local/share/recovery-hooks/bin]
    #[arg(long, value_name = "DIR")]
    bin_dir: Option<PathBuf>,
    /// Version of the client that will read the settings [default: what `claude --version` says]
    #[arg(long, value_name = "V")]
    client_version: Option<ClientVersion>,
}

/// Runs the verb.
pub(crate) fn run(
    arguments: &InstallArguments,
    environment: &Environment,
    printer: &Printer,
) -> anyhow::Result<ExitStatus> {
    let scope = scope_of(arguments.project.as_deref(), arguments.user, environment)?;
    let data_dir = data_dir(environment)?;
    let programs = BinariesPlan::new(arguments.bin_dir.as_deref(), environment).map_err(hinted)?;
    let (version, source) = client_version::find(arguments.client_version, environment);
    let layout = if arguments.separate { Layout::Separate } else { Layout::OneProcess };

    let plan = || Plan::new(&scope, arguments.shared, layout, version, &programs, &data_dir);
    let mut current = plan()?;
    if arguments.dry_run {
        current.print_diff(&programs, printer);
    } else {
        programs.carry_out().map_err(hinted)?;
        match current.carry_out() {
            // Another program wrote in between: look at its version once more.
            Err(FileError::Changed { .. }) => {
                current = plan()?;
                current.carry_out().map_err(hinted)?;
            }
            other => other.map_err(hinted)?,
        }
    }
    current.print_summary(arguments.dry_run, &source, &programs, environment, printer);
    Ok(ExitStatus::Success)
}

/// Returns the scope that the arguments name, or the project around the current folder.
pub(crate) fn scope_of(
    project: Option<&Path>,
    user: bool,
    environment: &Environment,
) -> anyhow::Result<Scope> {
    let scope = match project {
        _ if user => Scope::user(environment),
        Some(dir) => Scope::project(dir, environment),
        None => Scope::around_current_dir(environment),
    };
    scope.map_err(hinted)
}

/// Returns our folder for data.
pub(crate) fn data_dir(environment: &Environment) -> anyhow::Result<PathBuf> {
    environment.data_dir().ok_or_else(|| {
        Hinted::attach(anyhow::anyhow!("there is no home folder"), "set HOME and run the command again")
    })
}

/// Says which file and which place in it.
pub(crate) fn hinted_document_error(path: &Path, error: DocumentError) -> anyhow::Error {
    let remedy = error.remedy();
    let place = match error.position() {
        Some(at) => format!("{}:{at}", path.display()),
        None => path.display().to_string(),
    };
    Hinted::attach(anyhow::Error::new(error).context(format!("{place} cannot be edited")), remedy)
}

/// One settings file, before and after.
struct Edit {
    file: SettingsFile,
    backup: Backup,
    /// What the edit starts from: the state before us, if nothing else was changed since the last install.
    before: Before,
    after: Vec<u8>,
    changes: Vec<Change>,
    repeated_keys: Vec<String>,
}

impl Edit {
    fn changes_the_file(&self) -> bool {
        self.file.bytes.as_deref() != Some(self.after.as_slice())
            && !(self.file.bytes.is_none() && self.changes.is_empty())
    }
}

/// Everything that an install does to settings.
struct Plan<'a> {
    scope: &'a Scope,
    version: ClientVersion,
    wiring: Wiring,
    form: CommandForm,
    /// The file that gets the wiring, then those that lose theirs.
    target: Edit,
    others: Vec<Edit>,
    /// Why the target is not the first choice, or why it is written in another form.
    remark: Option<String>,
}

impl<'a> Plan<'a> {
    fn new(
        scope: &'a Scope,
        shared: bool,
        layout: Layout,
        version: ClientVersion,
        programs: &BinariesPlan,
        data_dir: &Path,
    ) -> anyhow::Result<Self> {
        let mut files = Vec::new();
        for path in scope.files() {
            let file = SettingsFile::read(&path).map_err(hinted)?;
            let document = match &file.bytes {
                Some(bytes) => Document::parse(bytes).map_err(|error| hinted_document_error(&path, error))?,
                None => Document::new(),
            };
            let own = merge::own_entries(&document);
            files.push((file, document, own));
        }
        let own: Vec<&[OwnEntry]> = files.iter().map(|(_, _, own)| own.as_slice()).collect();
        let choice = Choice::make(scope, shared, &own);
        let form = if choice.silent {
            CommandForm::Silent
        } else {
            // Checked when the programs were planned.
            CommandForm::Installed { bin_dir: programs.bin_dir().to_string_lossy().into_owned() }
        };
        let wiring = Wiring::new(layout, &form, &version);

        let mut target = None;
        let mut others = Vec::new();
        for (index, (file, document, own)) in files.into_iter().enumerate() {
            if index == choice.index {
                target = Some(wired(file, document, &wiring, data_dir)?);
            } else if !own.is_empty() {
                others.push(unwired(file, document, data_dir)?);
            }
        }
        let target = target.ok_or_else(|| anyhow::anyhow!("no settings file was chosen"))?;
        Ok(Self { scope, version, wiring, form, target, others, remark: choice.remark })
    }

    /// Writes the target, then the others: better wired twice for a moment than not at all.
    fn carry_out(&self) -> Result<(), FileError> {
        for edit in std::iter::once(&self.target).chain(&self.others) {
            if !edit.changes_the_file() {
                continue;
            }
            if let Some(folder) = edit.file.target().parent() {
                std::fs::create_dir_all(folder).map_err(FileError::io("make", folder))?;
            }
            // Looked at here too, so that the backup of another install at the same moment stays true.
            edit.file.check_unchanged()?;
            edit.backup.keep(edit.file.target(), &edit.before, &edit.after)?;
            edit.file.replace(&edit.after)?;
        }
        Ok(())
    }

    fn print_diff(&self, programs: &BinariesPlan, printer: &Printer) {
        for edit in std::iter::once(&self.target).chain(&self.others) {
            if !edit.changes_the_file() {
                continue;
            }
            let old = String::from_utf8_lossy(edit.file.bytes.as_deref().unwrap_or_default());
            let new = String::from_utf8_lossy(&edit.after);
            let path = edit.file.path.display().to_string();
            let old_name = if edit.file.bytes.is_some() { path.as_str() } else { "/dev/null" };
            let diff = TextDiff::from_lines(old.as_ref(), new.as_ref());
            printer.text(&diff.unified_diff().context_radius(2).header(old_name, &path).to_string());
        }
        if programs.count() > 0 {
            printer.line(format_args!(
                "{} programs would be copied to {}",
                programs.count(),
                programs.bin_dir().display()
            ));
        }
        printer.line("Nothing was written. In detail:");
    }

    fn print_summary(
        &self,
        dry_run: bool,
        source: &VersionSource,
        programs: &BinariesPlan,
        environment: &Environment,
        printer: &Printer,
    ) {
        let verb = if dry_run { "would be wired" } else { "are wired" };
        printer.line(format_args!("The recovery hooks {verb} for {}.", self.scope.described()));
        let state = match (self.target.changes_the_file(), self.target.file.bytes.is_some()) {
            (false, _) => "nothing to change".to_owned(),
            (true, false) => "new".to_owned(),
            (true, true) => counted(&self.target.changes),
        };
        printer.fact("settings", format_args!("{} ({state})", self.target.file.path.display()));
        if let Some(remark) = &self.remark {
            printer.fact("", remark);
        }
        for edit in &self.others {
            printer.fact("", format_args!("{} ({})", edit.file.path.display(), counted(&edit.changes)));
        }
        if self.target.before.bytes.is_some() && self.target.changes_the_file() {
            let kept = if dry_run { "would be kept" } else { "kept" };
            printer.fact("original", format_args!("{kept} as {}", self.target.backup.original().display()));
        }
        let events: Vec<&str> = self.wiring.events.iter().map(|wired| wired.event.name()).collect();
        printer.fact("events", events.join(" "));
        for event in &self.wiring.left_out {
            let since = event.since();
            printer.fact(
                "left out",
                format_args!("{event}: known from {since} on, the client is {}", self.version),
            );
        }
        printer.fact(
            "client",
            match source {
                VersionSource::Given => format!("{} (given)", self.version),
                VersionSource::Asked(path) => format!("{} ({})", self.version, path.display()),
                VersionSource::Assumed(why) => {
                    format!("{why}: version {} assumed; for an older one give --client-version", self.version)
                }
            },
        );
        let copied = match (programs.count(), dry_run) {
            (0, _) => "up to date".to_owned(),
            (count, false) => format!("{count} copied"),
            (count, true) => format!("{count} to copy"),
        };
        printer.fact("programs", format_args!("{} ({copied})", programs.bin_dir().display()));
        let after_update = if self.wiring.left_out.is_empty() {
            ""
        } else {
            " Run this again after an update of the client."
        };
        printer.line(format_args!(
            "See it work: start `claude` there and type /hooks; after the first prompt, sessions/<id>/heartbeat is in \
             the project.{after_update}"
        ));
        printer.line(format_args!("Remove it:   recovery uninstall {}", self.scope.arguments()));
        self.print_notes(environment, printer);
    }

    fn print_notes(&self, environment: &Environment, printer: &Printer) {
        for edit in std::iter::once(&self.target).chain(&self.others) {
            for repeated in &edit.repeated_keys {
                printer.note(repeated);
            }
        }
        if self.form == CommandForm::Silent {
            let wired =
                self.wiring.events.iter().flat_map(|wired| &wired.entries).map(|(program, _)| *program);
            let unfound: std::collections::BTreeSet<_> =
                wired.filter(|program| environment.find_on_path(program.name()).is_none()).collect();
            for program in unfound {
                printer.note(format_args!(
                    "`{program}` is not on the PATH, so the shared lines do nothing here; add the folder of the \
                     programs to it"
                ));
            }
        }
    }
}

fn counted(changes: &[Change]) -> String {
    use merge::Deed;
    let count = |deed| changes.iter().filter(|change| change.deed == deed).count();
    let parts: Vec<String> = [(Deed::Added, "added"), (Deed::Updated, "updated"), (Deed::Removed, "removed")]
        .into_iter()
        .filter_map(|(deed, name)| {
            Some(count(deed)).filter(|count| *count > 0).map(|count| format!("{count} {name}"))
        })
        .collect();
    if parts.is_empty() { "nothing to change".to_owned() } else { format!("entries: {}", parts.join(", ")) }
}

/// Which file gets the wiring.
struct Choice {
    index: usize,
    silent: bool,
    remark: Option<String>,
}

impl Choice {
    /// Decides by what stands in the files (`own`: one list a file of the scope, in its order) and by git.
    fn make(scope: &Scope, shared: bool, own: &[&[OwnEntry]]) -> Self {
        let first = |silent, remark| Self { index: 0, silent, remark };
        let Scope::Project(project) = scope else { return first(false, None) };
        if shared {
            return first(true, None);
        }
        if let Some(index) = own.iter().position(|own| !own.is_empty()) {
            // Lines that a team shares stay such lines.
            if own[index].iter().all(|entry| entry.command.silent) {
                let remark =
                    "the entries there are shared lines and stay such; --user wires you alone".to_owned();
                return Self { index, silent: true, remark: Some(remark) };
            }
            return Self { index, silent: false, remark: None };
        }
        let settings = &scope.files()[0];
        let why = match tracked_by_git(project, settings) {
            Tracked::No => return first(false, None),
            Tracked::Yes => format!("git tracks {SETTINGS}"),
            Tracked::Unknown(why) => format!("git may track {SETTINGS} ({why})"),
        };
        let remark =
            format!("{LOCAL_SETTINGS}, because {why}; --shared writes into {SETTINGS} what suits a team");
        Self { index: 1, silent: false, remark: Some(remark) }
    }
}

fn wired(file: SettingsFile, document: Document, wiring: &Wiring, data_dir: &Path) -> anyhow::Result<Edit> {
    edit(file, document, data_dir, |document| merge::wire(document, wiring))
}

fn unwired(file: SettingsFile, document: Document, data_dir: &Path) -> anyhow::Result<Edit> {
    edit(file, document, data_dir, |document| Ok(merge::unwire(document)))
}

fn edit(
    file: SettingsFile,
    document: Document,
    data_dir: &Path,
    change: impl Fn(&mut Document) -> Result<Vec<Change>, DocumentError>,
) -> anyhow::Result<Edit> {
    let refused = |error| hinted_document_error(&file.path, error);
    let backup = Backup::of(data_dir, &file);
    let repeated_keys = document
        .repeated_keys()
        .iter()
        .map(|(key, at)| {
            format!(
                "{}:{at}: the key {key:?} stands twice; the client takes the last one",
                file.path.display()
            )
        })
        .collect();
    let mut edited = document;
    let changes = change(&mut edited).map_err(refused)?;
    let folder_is_there = file.target().parent().is_some_and(Path::exists);
    let mut before = Before { bytes: file.bytes.clone(), folder_was_made: !folder_is_there };
    let mut after = if changes.is_empty() && file.bytes.is_some() {
        file.bytes.clone().unwrap_or_default()
    } else {
        edited.to_bytes()
    };
    // Nobody but us has written since the last install: start from what was there before us, so that any number of
    // installs, in whatever wiring, can be taken back to the same bytes.
    if !changes.is_empty()
        && let Some(original) = backup.if_untouched(file.bytes.as_deref())
    {
        let mut fresh = match &original.bytes {
            Some(bytes) => Document::parse(bytes).map_err(refused)?,
            None => Document::new(),
        };
        change(&mut fresh).map_err(refused)?;
        after = fresh.to_bytes();
        before = original;
    }
    Ok(Edit { file, backup, before, after, changes, repeated_keys })
}
