//! `.claims/**/*.lock`: who works on which file. Other programs' files; one that nobody holds is removed.

use std::io;

use serde::Deserialize;
use serde_json::Value;

use crate::clock::Now;
use crate::dir::{Dir, FileKind, FileStat};
use crate::{layout, lock, platform, times};

/// Names looked at, in all folders together.
const MAX_NAMES: usize = 4_096;
/// Folders below `.claims`.
const MAX_DEPTH: usize = 8;
const LIMIT: usize = 64 * 1024;
/// A claim set aside is in the hands of a living process for less than this, in seconds.
const ASIDE_S: i64 = 30;
const SUFFIX: &str = ".lock";

/// A claim as it was found.
#[derive(Debug)]
pub struct Claim {
    /// Path below `.claims` without the ending, such as `src_auth`.
    pub name: String,
    /// Who holds it.
    pub holder: Holder,
    /// Whether a process holds a lock on the file. Asking takes the lock for an instant, so only old claims are asked.
    pub in_use: bool,
    /// The file.
    pub stat: FileStat,
    folders: Vec<String>,
    file: String,
}

/// Who a claim names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holder {
    /// A process.
    pub pid: Option<u32>,
    /// Its start in clock ticks.
    pub start: Option<u64>,
    /// The boot it belongs to.
    pub boot_id: Option<String>,
    /// Its process-number space.
    pub pid_ns: Option<String>,
    /// The machine.
    pub host: Option<String>,
    /// A session.
    pub session: Option<String>,
    /// When it runs out by its own word, seconds since 1970.
    pub expires_s: Option<i64>,
    /// The body says something that could not be read: nobody can tell whose it is.
    pub unreadable: bool,
}

/// Finds the claims last written strictly more than `age_s` seconds ago: ordinary files that end in `.lock`. Links,
/// folders and other names are none; younger ones are not opened.
#[must_use]
pub fn older_than(root: &Dir, age_s: i64, now: Now) -> Vec<Claim> {
    let mut walk = Walk { age_s, now, names_left: MAX_NAMES, folders: Vec::new(), found: Vec::new() };
    if let Ok(top) = root.folder(layout::CLAIMS) {
        walk.folder(&top);
    }
    walk.found
}

struct Walk {
    age_s: i64,
    now: Now,
    names_left: usize,
    folders: Vec<String>,
    found: Vec<Claim>,
}

impl Walk {
    fn folder(&mut self, dir: &Dir) {
        if self.names_left == 0 {
            return;
        }
        let names = dir.names(self.names_left);
        self.names_left = self.names_left.saturating_sub(names.len());
        for mut file in names {
            if let Some(original) = layout::original(&file).filter(|original| original.ends_with(SUFFIX)) {
                let original = original.to_owned();
                // Somebody may be removing it at this moment; a killed process has been gone for longer.
                let settled = dir.changed_s(&file).is_none_or(|at| self.now.age_s(at) > ASIDE_S);
                if !settled || !put_back(dir, &file, &original) {
                    continue;
                }
                file = original;
            }
            let Some(stat) = dir.stat(&file) else { continue };
            match stat.kind {
                FileKind::Folder if self.folders.len() < MAX_DEPTH => {
                    if let Ok(inner) = dir.folder(&file) {
                        self.folders.push(file);
                        self.folder(&inner);
                        self.folders.pop();
                    }
                }
                FileKind::File
                    if file.ends_with(SUFFIX)
                        && file.len() > SUFFIX.len()
                        && self.now.age_s(stat.mtime_s) > self.age_s =>
                {
                    self.found.extend(read(dir, &self.folders, file, stat));
                }
                _ => {}
            }
        }
    }
}

/// A process that was killed between setting a claim aside and removing it left it under another name: it gets its own
/// back and is judged like any other. Returns whether it did; where a newer claim took the name, the old one goes.
fn put_back(dir: &Dir, aside: &str, original: &str) -> bool {
    match dir.rename_new(aside, original) {
        Ok(()) => true,
        Err(error) => {
            if error.kind() == io::ErrorKind::AlreadyExists {
                // Whoever holds the name now took it after the killed process had judged the old one stale.
                let _ = dir.remove_file(aside);
            }
            false
        }
    }
}

fn read(dir: &Dir, folders: &[String], file: String, stat: FileStat) -> Option<Claim> {
    let open = dir.open_file(&file).ok()?;
    let holder = dir
        .read(&file, LIMIT)
        .map_or_else(|_| Holder { unreadable: true, ..Holder::default() }, |body| holder(&body));
    let name = file.strip_suffix(SUFFIX)?;
    let name = folders.iter().map(String::as_str).chain([name]).collect::<Vec<_>>().join("/");
    Some(Claim { name, holder, in_use: lock::is_locked(&open), stat, folders: folders.to_vec(), file })
}

/// Reads a body: empty, a process number, or an object. Anything else names somebody we do not know.
fn holder(body: &[u8]) -> Holder {
    let unreadable = Holder { unreadable: true, ..Holder::default() };
    let Ok(text) = std::str::from_utf8(body) else { return unreadable };
    let text = text.trim_start_matches('\u{feff}').trim();
    if text.is_empty() {
        return Holder::default();
    }
    if let Ok(pid) = text.parse() {
        return Holder { pid: Some(pid), ..Holder::default() };
    }
    // An array of the right length would pass for the object.
    if !text.starts_with('{') {
        return unreadable;
    }
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Body {
        pid: Value,
        #[serde(alias = "procStart", alias = "start_time")]
        start: Value,
        boot_id: Value,
        pid_ns: Value,
        #[serde(alias = "hostname")]
        host: Value,
        #[serde(alias = "session_id", alias = "sessionId")]
        session: Value,
        expires_at: Value,
    }
    let Ok(body) = serde_json::from_str::<Body>(text) else { return unreadable };
    let number = |value: &Value| value.as_u64().or_else(|| value.as_str()?.trim().parse().ok());
    let string =
        |value: &Value| value.as_str().filter(|text| !text.is_empty() && *text != "null").map(str::to_owned);
    let pid = number(&body.pid).and_then(|pid| u32::try_from(pid).ok());
    Holder {
        pid,
        start: number(&body.start),
        boot_id: string(&body.boot_id),
        pid_ns: string(&body.pid_ns),
        host: string(&body.host),
        session: string(&body.session),
        expires_s: times::of_json(&body.expires_at),
        unreadable: pid.is_none() && !body.pid.is_null(),
    }
}

/// Removes a claim if it is still the one that was judged: renamed aside, looked at again, unlinked. One that was
/// renewed or locked meanwhile is put back, never over a newer one. Returns whether it is gone.
///
/// A kill between the steps leaves it set aside; [`older_than`] puts it back the next time.
pub fn remove(root: &Dir, claim: &Claim) -> io::Result<bool> {
    let mut dir = root.folder(layout::CLAIMS)?;
    for folder in &claim.folders {
        dir = dir.folder(folder)?;
    }
    if dir.stat(&claim.file) != Some(claim.stat) {
        return Ok(false);
    }
    let aside = layout::temporary(&claim.file, platform::nonce());
    dir.rename(&claim.file, &aside)?;
    let unheld = dir.open_file(&aside).is_ok_and(|file| !lock::is_locked(&file));
    if unheld && dir.stat(&aside) == Some(claim.stat) {
        dir.remove_file(&aside)?;
        return Ok(true);
    }
    put_back(&dir, &aside, &claim.file);
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(root: &Dir) -> Vec<Claim> {
        older_than(root, 900, Now(Now::read().0 + 901_000))
    }

    #[test]
    fn a_claim_set_aside_by_a_killed_process_gets_its_name_back() {
        let top = tempfile::tempdir().unwrap();
        let root = Dir::open(top.path()).unwrap();
        let claims = top.path().join(".claims");
        std::fs::create_dir(&claims).unwrap();
        let aside = |name: &str, body: &str| {
            std::fs::write(claims.join(layout::temporary(name, 7)), body).unwrap();
        };
        aside("a.lock", "11");
        aside("b.lock", "old");
        std::fs::write(claims.join("b.lock"), "22").unwrap();
        let mut found: Vec<_> = all(&root).into_iter().map(|claim| (claim.name, claim.holder.pid)).collect();
        found.sort();
        assert_eq!(found, [("a".to_owned(), Some(11)), ("b".to_owned(), Some(22))]);
        let mut left = Dir::open(&claims).unwrap().names(9);
        left.sort();
        assert_eq!(left, ["a.lock", "b.lock"]);
    }

    #[test]
    fn only_claims_strictly_older_are_looked_at() {
        let top = tempfile::tempdir().unwrap();
        let root = Dir::open(top.path()).unwrap();
        std::fs::create_dir(top.path().join(".claims")).unwrap();
        std::fs::write(top.path().join(".claims/a.lock"), "").unwrap();
        let at = root.folder(".claims").unwrap().stat("a.lock").unwrap().mtime_s;
        let count = |seconds: i64| older_than(&root, 900, Now((at + seconds) * 1000)).len();
        assert_eq!((count(-60), count(899), count(900), count(901)), (0, 0, 0, 1));
    }

    #[test]
    fn a_deep_and_wide_tree_costs_a_bounded_look() {
        let top = tempfile::tempdir().unwrap();
        let root = Dir::open(top.path()).unwrap();
        let mut deep = top.path().join(".claims");
        for level in 0..12 {
            std::fs::create_dir_all(&deep).unwrap();
            std::fs::write(deep.join(format!("l{level}.lock")), "").unwrap();
            deep.push("d");
        }
        assert_eq!(all(&root).len(), MAX_DEPTH + 1);
        for number in 0..MAX_NAMES + 50 {
            std::fs::write(top.path().join(format!(".claims/{number}.lock")), "").unwrap();
        }
        assert!(all(&root).len() <= MAX_NAMES);
    }

    #[test]
    fn a_claim_locked_between_look_and_removal_stays() {
        let top = tempfile::tempdir().unwrap();
        let root = Dir::open(top.path()).unwrap();
        std::fs::create_dir(top.path().join(".claims")).unwrap();
        let file = std::fs::File::create(top.path().join(".claims/a.lock")).unwrap();
        let claims = all(&root);
        fs2::FileExt::lock_exclusive(&file).unwrap();
        assert!(!remove(&root, &claims[0]).unwrap());
        assert_eq!(Dir::open(&top.path().join(".claims")).unwrap().names(9), ["a.lock"]);
        fs2::FileExt::unlock(&file).unwrap();
        assert!(remove(&root, &claims[0]).unwrap());
    }

    #[test]
    fn bodies_as_programs_write_them() {
        assert_eq!(holder(b""), Holder::default());
        assert_eq!(holder(b" \n"), Holder::default());
        assert_eq!(holder(b"4242\n").pid, Some(4242));
        let full = holder(br#"{"pid":"17","host":"h","session_id":"s","expires_at":1772452200,"start":99}"#);
        assert_eq!((full.pid, full.start, full.host.as_deref()), (Some(17), Some(99), Some("h")));
        assert_eq!((full.session.as_deref(), full.expires_s), (Some("s"), Some(1_772_452_200)));
        assert!(!full.unreadable);
        for odd in ["locked by bob", "{\"pid\": 12", "[1]", "{\"pid\":\"x\"}"] {
            assert!(holder(odd.as_bytes()).unreadable, "{odd}");
        }
        assert!(holder(b"\xff\xfe").unreadable);
    }

    #[test]
    fn a_claim_renewed_meanwhile_stays() {
        let top = tempfile::tempdir().unwrap();
        let root = Dir::open(top.path()).unwrap();
        let inner = top.path().join(".claims/sub");
        std::fs::create_dir_all(&inner).unwrap();
        std::fs::write(inner.join("a.lock"), "").unwrap();
        std::fs::write(inner.join("note.txt"), "").unwrap();
        std::fs::create_dir(inner.join("b.lock")).unwrap();
        std::os::unix::fs::symlink("a.lock", inner.join("c.lock")).unwrap();
        let claims = all(&root);
        assert_eq!(claims.iter().map(|claim| claim.name.as_str()).collect::<Vec<_>>(), ["sub/a"]);
        std::fs::write(inner.join("a.lock"), "1").unwrap();
        assert!(!remove(&root, &claims[0]).unwrap());
        assert!(inner.join("a.lock").exists());
        let claims = all(&root);
        assert!(remove(&root, &claims[0]).unwrap());
        let mut left: Vec<_> = std::fs::read_dir(&inner).unwrap().map(|e| e.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["b.lock", "c.lock", "note.txt"]);
    }

    #[test]
    fn a_lock_that_is_held_shows() {
        let top = tempfile::tempdir().unwrap();
        let root = Dir::open(top.path()).unwrap();
        std::fs::create_dir(top.path().join(".claims")).unwrap();
        let file = std::fs::File::create(top.path().join(".claims/a.lock")).unwrap();
        assert!(!all(&root)[0].in_use);
        fs2::FileExt::lock_shared(&file).unwrap();
        assert!(!all(&root)[0].in_use, "another one that asks");
        fs2::FileExt::lock_exclusive(&file).unwrap();
        assert!(all(&root)[0].in_use);
    }
}
