//! Reading below a root: no link is followed out of it, nothing is read without a limit, and why something is not read is
//! said in words that stand after its name.

use std::io;

use session_state::{Dir, FileKind};

/// Reads an ordinary file of a folder. Ok(None): there is none. Err: why it is not read.
pub fn read(dir: &Dir, name: &str, limit: usize) -> Result<Option<Vec<u8>>, String> {
    match dir.read(name, limit) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
            Err(format!("is larger than {}", size(limit)))
        }
        Err(error) => Err(match dir.stat(name).map(|stat| stat.kind) {
            Some(FileKind::Link) => "is a link, which is not followed".to_owned(),
            Some(FileKind::Folder) => "is a folder".to_owned(),
            Some(FileKind::Special) => "is no ordinary file".to_owned(),
            _ => failure(&error),
        }),
    }
}

/// A step on the way to a folder that does not lead on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Barred {
    /// Its name.
    pub(crate) step: String,
    /// Why.
    pub(crate) why: String,
}

/// Opens a folder below another, step by step. Ok(None): it does not exist.
pub(crate) fn folder<'p>(root: &Dir, steps: impl Iterator<Item = &'p str>) -> Result<Option<Dir>, Barred> {
    let mut here = None;
    for step in steps {
        match subfolder(here.as_ref().unwrap_or(root), step) {
            Ok(Some(next)) => here = Some(next),
            Ok(None) => return Ok(None),
            Err(why) => return Err(Barred { step: step.to_owned(), why }),
        }
    }
    match here {
        Some(dir) => Ok(Some(dir)),
        None => Dir::open(root.path())
            .map(Some)
            .map_err(|error| Barred { step: ".".to_owned(), why: failure(&error) }),
    }
}

fn subfolder(dir: &Dir, name: &str) -> Result<Option<Dir>, String> {
    match dir.folder(name) {
        Ok(inner) => Ok(Some(inner)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(match dir.stat(name).map(|stat| stat.kind) {
            Some(FileKind::Link) => "is a link, which is not followed".to_owned(),
            Some(FileKind::File | FileKind::Special) => "is no folder".to_owned(),
            _ => failure(&error),
        }),
    }
}

/// Why the system did not let something be read.
pub(crate) fn failure(error: &io::Error) -> String {
    format!("cannot be read ({})", error.kind())
}

fn size(bytes: usize) -> String {
    const MIB: usize = 1024 * 1024;
    if bytes >= MIB && bytes.is_multiple_of(MIB) {
        format!("{} MiB", bytes / MIB)
    } else {
        format!("{} KiB", bytes / 1024)
    }
}

/// Whether a name is that of a file left over from writing another, or a hidden one: no state (FORMATS 1.3).
pub(crate) fn is_residue(name: &str) -> bool {
    name.starts_with('.') || name.ends_with(".tmp") || name.contains(".corrupted")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn why_a_file_is_not_read() {
        let top = tempfile::tempdir().unwrap();
        let dir = Dir::open(top.path()).unwrap();
        std::fs::write(top.path().join("file"), vec![b'x'; 1024]).unwrap();
        std::fs::create_dir(top.path().join("folder")).unwrap();
        assert_eq!(read(&dir, "nothing", 9), Ok(None));
        assert_eq!(read(&dir, "file", 1024).map(|bytes| bytes.map(|bytes| bytes.len())), Ok(Some(1024)));
        assert_eq!(read(&dir, "file", 1023), Err("is larger than 0 KiB".to_owned()));
        assert_eq!(read(&dir, "folder", 9), Err("is a folder".to_owned()));
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(top.path().join("file"), top.path().join("link")).unwrap();
            assert_eq!(read(&dir, "link", 9_999), Err("is a link, which is not followed".to_owned()));
            let barred = folder(&dir, ["folder", "gone"].into_iter());
            assert!(matches!(barred, Ok(None)));
            let barred = folder(&dir, ["link", "x"].into_iter()).unwrap_err();
            assert_eq!(
                (barred.step.as_str(), barred.why.as_str()),
                ("link", "is a link, which is not followed")
            );
        }
        assert_eq!(folder(&dir, ["file"].into_iter()).unwrap_err().why, "is no folder");
        assert_eq!(size(4 * 1024 * 1024), "4 MiB");
        assert_eq!(size(256 * 1024), "256 KiB");
    }

    #[test]
    fn residue_is_no_state() {
        for name in
            ["03-qa.json.123.1772440000.tmp", "03-qa.json.tmp", "run.json.corrupted.0a1b2c3d", ".gitkeep"]
        {
            assert!(is_residue(name), "{name}");
        }
        assert!(!is_residue("03-qa.json"));
    }
}
