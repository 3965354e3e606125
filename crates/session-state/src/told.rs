//! `sessions/.open/.told`: what stays as it is although it was told, and to which sessions: `FINGERPRINT SESSION` a line.
//!
//! A line is appended before anything is told; the order of the lines decides. So of many sessions that start at once no
//! more are told than should be, without a lock.

use std::io::{self, Write};

use crate::names::file_name;
use crate::{layout, session::Session};

const LIMIT: usize = 256 * 1024;

/// Takes the right to tell a session of something; its fingerprint changes when it is to be told anew. Returns whether it
/// may be told: not to this session before, and to fewer than `most` others. `counts` says of another session's name
/// whether it still knows: with a session that was cut off, what it was told is lost.
///
/// Errors: it could not be noted, so it must not be told.
pub fn take(
    session: &Session,
    fingerprint: &str,
    most: usize,
    counts: impl Fn(&str) -> bool,
) -> io::Result<bool> {
    let folder = session.open_folder()?;
    let read = || match folder.read(layout::TOLD, LIMIT) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        // Too large to be ours: then it is told to nobody.
        Err(error) => Err(error),
    };
    let me = file_name(&session.name);
    let before = read()?;
    let named = names(&before, fingerprint);
    if named.contains(&&*me) || named.iter().filter(|name| counts(name)).nth(most.saturating_sub(1)).is_some()
    {
        return Ok(false);
    }
    if before.len() > LIMIT / 2 {
        // The old is forgotten; at worst it is told once more.
        folder.replace(layout::TOLD, b"", false)?;
    }
    folder.open_append(layout::TOLD)?.write_all(format!("{fingerprint} {me}\n").as_bytes())?;
    let after = read()?;
    let mut told = names(&after, fingerprint);
    told.retain(|name| *name == me || counts(name));
    Ok(told.iter().take(most).any(|name| *name == me))
}

/// The sessions a thing was told to, each once, the first first.
fn names<'a>(told: &'a str, fingerprint: &str) -> Vec<&'a str> {
    let mut names = Vec::new();
    for (of, name) in told.lines().filter_map(|line| line.split_once(' ')) {
        if of == fingerprint && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dir;
    use std::sync::Barrier;

    fn session(sessions: &std::path::Path, name: &str) -> Session {
        std::fs::create_dir_all(sessions.join(name)).unwrap();
        Session::open_in(Dir::open(sessions).unwrap(), name).unwrap()
    }

    #[test]
    fn each_session_once_and_no_more_sessions_than_allowed() {
        let top = tempfile::tempdir().unwrap();
        let take = |name: &str, thing: &str, most| {
            take(&session(top.path(), name), thing, most, |name| name != "cut").unwrap()
        };
        assert!(take("a", "x", 2));
        assert!(!take("a", "x", 2), "told before");
        assert!(take("b", "x", 2));
        assert!(!take("c", "x", 2), "one too many");
        assert!(take("c", "y", 2), "another thing");
        assert!(take("cut", "z", 1));
        assert!(take("d", "z", 1), "who was told was cut off");
        assert!(!take("e", "z", 1));
    }

    #[test]
    fn of_many_at_once_one_is_told() {
        for _ in 0..20 {
            let top = tempfile::tempdir().unwrap();
            let sessions: Vec<Session> =
                (0..8).map(|number| session(top.path(), &format!("s{number}"))).collect();
            let barrier = Barrier::new(sessions.len());
            let told = std::thread::scope(|scope| {
                let threads: Vec<_> = sessions
                    .iter()
                    .map(|session| {
                        scope.spawn(|| {
                            barrier.wait();
                            take(session, "x", 1, |_| true).unwrap()
                        })
                    })
                    .collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).filter(|told| *told).count()
            });
            assert_eq!(told, 1);
        }
    }

    #[test]
    fn a_full_list_is_begun_anew_and_a_larger_one_tells_nobody() {
        let top = tempfile::tempdir().unwrap();
        let session = session(top.path(), "a");
        assert!(take(&session, "x", 1, |_| true).unwrap());
        let path = top.path().join(layout::OPEN_SESSIONS).join(layout::TOLD);
        std::fs::write(&path, "y z\n".repeat(LIMIT / 8 + 1)).unwrap();
        assert!(take(&session, "x", 1, |_| true).unwrap());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "x a\n");
        std::fs::write(&path, vec![b'\n'; LIMIT + 1]).unwrap();
        assert!(take(&session, "w", 1, |_| true).is_err());
    }
}
