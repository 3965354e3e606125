//! `recovery uninstall`: take our entries out again, and with `--purge` everything else of ours.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use clap::Args;
use session_state::env;

use crate::{
    backup::Backup,
    environment::Environment,
    exit_status::ExitStatus,
    hint::hinted,
    install::{data_dir, hinted_document_error, scope_of},
    printer::Printer,
    purge,
    scope::Scope,
    settings::{
        document::Document,
        file::{FileError, SettingsFile},
        merge,
    },
};

/// Take our entries out of the client's settings
///
/// If nothing else was changed since the install, the settings file is the old one again, byte for byte; a file or
/// folder that install made is removed. Otherwise only our entries go.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  recovery uninstall                           the project around the current folder
  recovery uninstall --project ~/src/shop      another project
  recovery uninstall --user                    your own settings
  recovery uninstall --purge                   also what the hooks recorded there, and the programs")]
pub(crate) struct UninstallArguments {
    /// Remove from the project in this folder [default: the one around the current folder]
    #[arg(long, value_name = "DIR", conflicts_with = "user")]
    project: Option<PathBuf>,
    /// Remove from the settings in your own configuration folder
    #[arg(long)]
    user: bool,
    /// Also remove what the hooks recorded in the project, and the programs if nothing else is wired to them
    #[arg(long)]
    purge: bool,
}

/// Runs the verb.
pub(crate) fn run(
    arguments: &UninstallArguments,
    environment: &Environment,
    printer: &Printer,
) -> anyhow::Result<ExitStatus> {
    let scope = scope_of(arguments.project.as_deref(), arguments.user, environment)?;
    let data_dir = data_dir(environment)?;
    // All files are read before the first is written: one that cannot be edited stops the whole.
    let removals = plan(&scope, &data_dir)?;
    let mut bin_dirs: BTreeSet<PathBuf> = crate::binaries::default_bin_dir(environment).into_iter().collect();
    let mut found = 0;
    for mut removal in removals {
        found += removal.count;
        bin_dirs.extend(removal.bin_dirs.iter().cloned());
        match removal.carry_out() {
            // Another program wrote in between: look at its version once more.
            Err(FileError::Changed { path }) => {
                removal = Removal::of(&path, &data_dir)?;
                removal.carry_out().map_err(hinted)?;
            }
            other => other.map_err(hinted)?,
        }
        if let Some(text) = removal.result.described() {
            printer.line(format_args!("{}: {text}", removal.file.path.display()));
        }
    }
    if found == 0 {
        printer.line(format_args!("There was nothing of ours in the settings of {}.", scope.described()));
    }
    if arguments.purge {
        purge::state(&scope, environment.variables.path(env::RECOVERY_STATE_DIR).as_deref(), printer);
        purge::registration(&scope, environment);
        purge::programs(&bin_dirs, &scope, environment, printer);
    } else if let Scope::Project(_) = scope {
        printer.line(format_args!(
            "What the hooks recorded, and the programs, are still there: recovery uninstall {} --purge",
            scope.arguments()
        ));
    }
    Ok(ExitStatus::Success)
}

/// What is to be done to one settings file.
struct Removal {
    file: SettingsFile,
    backup: Backup,
    /// Our entries in it.
    count: usize,
    /// Folders that these entries name.
    bin_dirs: BTreeSet<PathBuf>,
    result: RemovalResult,
}

enum RemovalResult {
    Unchanged,
    /// Bytes to write, and how they compare with the file before the install.
    Rewritten {
        bytes: Vec<u8>,
        compared: Compared,
    },
    /// The file was made by install; perhaps the folder too.
    Gone {
        with_folder: bool,
    },
}

#[derive(Clone, Copy)]
enum Compared {
    /// The very same bytes.
    Original,
    /// The original without the entries of ours that it held already.
    OriginalWithoutOlder,
    /// What it is now without our entries: somebody else changed it in between, or nobody knows the original.
    Edited,
}

impl RemovalResult {
    fn described(&self) -> Option<&'static str> {
        match self {
            Self::Unchanged => None,
            Self::Rewritten { compared, .. } => Some(match compared {
                Compared::Original => "as it was before the install, byte for byte",
                Compared::OriginalWithoutOlder => {
                    "as it was before the install, less the entries of an older one"
                }
                Compared::Edited => "our entries are out, everything else is as it was",
            }),
            Self::Gone { .. } => Some("removed; install had made it"),
        }
    }
}

fn plan(scope: &Scope, data_dir: &Path) -> anyhow::Result<Vec<Removal>> {
    scope.files().iter().map(|path| Removal::of(path, data_dir)).collect()
}

impl Removal {
    fn of(path: &Path, data_dir: &Path) -> anyhow::Result<Self> {
        let file = SettingsFile::read(path).map_err(hinted)?;
        let backup = Backup::of(data_dir, &file);
        let mut removal =
            Self { backup, count: 0, bin_dirs: BTreeSet::new(), result: RemovalResult::Unchanged, file };
        let Some(bytes) = &removal.file.bytes else { return Ok(removal) };
        let parse = |bytes: &[u8]| Document::parse(bytes).map_err(|error| hinted_document_error(path, error));
        let mut document = parse(bytes)?;
        let own = merge::own_entries(&document);
        removal.count = own.len();
        removal.bin_dirs = own
            .iter()
            .filter_map(|entry| Path::new(&entry.command.path).parent())
            .filter(|folder| folder.is_absolute())
            .map(Path::to_owned)
            .collect();
        if own.is_empty() {
            return Ok(removal);
        }
        removal.result = match removal.backup.if_untouched(Some(bytes)) {
            Some(before) => match &before.bytes {
                None => RemovalResult::Gone { with_folder: before.folder_was_made },
                Some(original) => {
                    // The original may hold entries of an even older install; those go too.
                    let mut document = parse(original)?;
                    if merge::unwire(&mut document).is_empty() {
                        RemovalResult::Rewritten { bytes: original.clone(), compared: Compared::Original }
                    } else {
                        let compared = Compared::OriginalWithoutOlder;
                        RemovalResult::Rewritten { bytes: document.to_bytes(), compared }
                    }
                }
            },
            None => {
                merge::unwire(&mut document);
                RemovalResult::Rewritten { bytes: document.to_bytes(), compared: Compared::Edited }
            }
        };
        Ok(removal)
    }

    fn carry_out(&self) -> Result<(), FileError> {
        match &self.result {
            RemovalResult::Unchanged => {}
            RemovalResult::Rewritten { bytes, .. } => self.file.replace(bytes)?,
            RemovalResult::Gone { with_folder } => {
                self.file.remove()?;
                if *with_folder && let Some(folder) = self.file.target().parent() {
                    // Somebody may have put something else there; then it stays.
                    let _ = std::fs::remove_dir(folder);
                }
            }
        }
        self.backup.forget().map_err(FileError::io("remove", &self.backup.original()))
    }
}
