//! What a settings file was before us, and what we made of it: so that `uninstall` can give back the very bytes.
//!
//! Kept in our own folder for data, not beside the settings file: settings hold secrets, and a copy in a project
//! would sooner or later be committed or stashed with everything else.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use session_state::Dir;

use crate::settings::file::{FileError, SettingsFile, replace_file};

/// Folder of all backups, inside our folder for data.
const BACKUPS: &str = "backups";
/// The file as it was before the first install; missing if there was none.
const BEFORE: &str = "before";
/// The file as the last install left it.
const AFTER: &str = "after";
/// Everything else, and the sign that the other two are complete.
const NOTE: &str = "note.json";

/// Version of the note.
const VERSION: u32 = 1;

/// What was there before the first install.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Before {
    /// `None`: no file.
    pub(crate) bytes: Option<Vec<u8>>,
    /// Whether the folder was made for the file.
    pub(crate) folder_was_made: bool,
}

#[derive(Debug, Serialize, Deserialize)]
struct Note {
    v: u32,
    settings: String,
    existed: bool,
    folder_was_made: bool,
}

/// The place for the backup of one settings file.
#[derive(Clone, Debug)]
pub(crate) struct Backup {
    folder: PathBuf,
}

impl Backup {
    /// Returns the place that belongs to this settings file.
    pub(crate) fn of(data_dir: &Path, file: &SettingsFile) -> Self {
        let target = file.target();
        // A readable part for people, and a number that tells files of the same name apart.
        let folders = target.parent().and_then(Path::parent).and_then(Path::file_name).unwrap_or_default();
        let readable: String = folders
            .to_string_lossy()
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' })
            .take(40)
            .collect();
        let number = fnv_1a(target.as_os_str().as_encoded_bytes());
        Self { folder: data_dir.join(BACKUPS).join(format!("{readable}-{number:016x}")) }
    }

    /// Returns where the original file is kept.
    pub(crate) fn original(&self) -> PathBuf {
        self.folder.join(BEFORE)
    }

    /// Returns what was there before, if `current` is exactly what the last install wrote.
    pub(crate) fn if_untouched(&self, current: Option<&[u8]>) -> Option<Before> {
        let note: Note = serde_json::from_slice(&fs::read(self.folder.join(NOTE)).ok()?).ok()?;
        let after = fs::read(self.folder.join(AFTER)).ok()?;
        if note.v != VERSION || current != Some(after.as_slice()) {
            return None;
        }
        let bytes = if note.existed { Some(fs::read(self.folder.join(BEFORE)).ok()?) } else { None };
        Some(Before { bytes, folder_was_made: note.folder_was_made })
    }

    /// Keeps both states. Done before the settings file is touched; if that then fails, the next run sees that the
    /// file is not `after` and starts afresh.
    pub(crate) fn keep(&self, settings: &Path, before: &Before, after: &[u8]) -> Result<(), FileError> {
        Dir::make_all(&self.folder).map_err(FileError::io("make", &self.folder))?;
        let note_path = self.folder.join(NOTE);
        remove_if_there(&note_path).map_err(FileError::io("remove", &note_path))?;
        let original = self.folder.join(BEFORE);
        match &before.bytes {
            Some(bytes) => write_private(&original, bytes)?,
            None => remove_if_there(&original).map_err(FileError::io("remove", &original))?,
        }
        write_private(&self.folder.join(AFTER), after)?;
        let note = Note {
            v: VERSION,
            settings: settings.to_string_lossy().into_owned(),
            existed: before.bytes.is_some(),
            folder_was_made: before.folder_was_made,
        };
        let note = serde_json::to_vec_pretty(&note)
            .map_err(|error| FileError::io("write", &note_path)(error.into()))?;
        write_private(&note_path, &note)
    }

    /// Forgets both states, and the folders that held nothing else.
    pub(crate) fn forget(&self) -> io::Result<()> {
        for name in [NOTE, AFTER, BEFORE] {
            remove_if_there(&self.folder.join(name))?;
        }
        // Folders that are not empty, or not there, stay as they are.
        for folder in self.folder.ancestors().take(3) {
            let _ = fs::remove_dir(folder);
        }
        Ok(())
    }
}

/// Returns the settings files that have a backup: the places where we were installed by this person.
pub(crate) fn known_settings(data_dir: &Path) -> Vec<PathBuf> {
    let folders = fs::read_dir(data_dir.join(BACKUPS)).into_iter().flatten().flatten();
    let notes = folders.filter_map(|folder| fs::read(folder.path().join(NOTE)).ok());
    let mut known: Vec<PathBuf> = notes
        .filter_map(|note| serde_json::from_slice::<Note>(&note).ok())
        .map(|note| PathBuf::from(note.settings))
        .collect();
    known.sort();
    known
}

fn write_private(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    use io::Write as _;
    let private = {
        // The folder is closed to others; the file is too, in case somebody copies the folder.
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            Some(fs::Permissions::from_mode(0o600))
        }
        #[cfg(not(unix))]
        None
    };
    replace_file(path, private, |file| file.write_all(bytes), || Ok(()))
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The FNV-1a hash: unlike the standard library's, the same in every release.
fn fnv_1a(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
