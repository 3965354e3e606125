//! Is an artifact really there, and whole? An entry of the registry is no proof.

use std::io::Read as _;

use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::registry::{Entry, Validation};
use super::tree::{Located, Tree};
use crate::json;

/// Larger files are not looked into, in bytes.
const CONTENT_LIMIT: u64 = 64 * 1024 * 1024;

/// What was found of an artifact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Presence {
    /// The file is there, and whole as far as that can be told.
    Present,
    /// There is no such file.
    Missing,
    /// The file is there, but not what it should be.
    Corrupt,
    /// Its path leads out of the project: not looked at.
    Outside,
    /// It is no ordinary file, or there is no permission to read it.
    Unreadable,
    /// The registry does not call it good: not looked at.
    NotChecked,
}

/// The result of a look at an artifact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Looked {
    pub(crate) presence: Presence,
    /// From the project's root.
    pub(crate) path: Option<String>,
    /// In words that stand after the name.
    pub(crate) why: Option<String>,
    /// Bytes.
    pub(crate) size: Option<u64>,
}

impl Looked {
    const fn not(presence: Presence) -> Self {
        Self { presence, path: None, why: None, size: None }
    }
}

/// Where artifacts lie whose path the registry does not tell.
const USUAL_FOLDERS: [&str; 2] = [".claude/context/artifacts", ".claude/context/artifacts/generated"];

/// Looks at an artifact that the registry in `folder` lists.
pub(crate) fn look(tree: &Tree, entry: &Entry, folder: &str) -> Looked {
    if entry.validation != Validation::Pass {
        return Looked::not(Presence::NotChecked);
    }
    let (candidates, leaves) = candidates(tree, entry, folder);
    let mut unreadable = None;
    for path in &candidates {
        match tree.locate(path) {
            Located::Absent => {}
            Located::Outside => {
                unreadable.get_or_insert(Looked {
                    path: Some(path.clone()),
                    why: Some("is a link that leads out of the project".to_owned()),
                    ..Looked::not(Presence::Outside)
                });
            }
            Located::Unreadable(why) => {
                unreadable.get_or_insert(Looked {
                    path: Some(path.clone()),
                    why: Some(why),
                    ..Looked::not(Presence::Unreadable)
                });
            }
            Located::Folder { empty } => {
                return Looked {
                    presence: if empty { Presence::Corrupt } else { Presence::Present },
                    path: Some(path.clone()),
                    why: empty.then(|| "is an empty folder".to_owned()),
                    size: None,
                };
            }
            Located::File(dir, name, stat) => {
                let content = if stat.size == 0 {
                    Some((Presence::Corrupt, "is empty".to_owned()))
                } else {
                    match dir.open_file(&name) {
                        Ok(file) => content(file, stat.size, entry, path),
                        Err(error) => {
                            Some((Presence::Unreadable, format!("cannot be read ({})", error.kind())))
                        }
                    }
                };
                let (presence, why) =
                    content.map_or((Presence::Present, None), |(presence, why)| (presence, Some(why)));
                return Looked { presence, path: Some(path.clone()), why, size: Some(stat.size) };
            }
        }
    }
    if let Some(found) = unreadable {
        return found;
    }
    if leaves {
        let why = "has a path that leads out of the project".to_owned();
        return Looked { why: Some(why), ..Looked::not(Presence::Outside) };
    }
    let path = candidates.into_iter().next().filter(|_| entry.path.is_some());
    Looked { path, why: Some("is not there".to_owned()), ..Looked::not(Presence::Missing) }
}

/// Paths from the root, the likeliest first; and whether one of the readings leads out.
fn candidates(tree: &Tree, entry: &Entry, folder: &str) -> (Vec<String>, bool) {
    let mut found = Vec::new();
    let mut leaves = false;
    let mut add = |path: Option<String>| match path {
        Some(path) if found.contains(&path) => {}
        Some(path) => found.push(path),
        None => leaves = true,
    };
    if let Some(path) = &entry.path {
        let is_of_run = folder.contains("/runs/") && !path.trim_start_matches("./").starts_with(".claude");
        let bases = if is_of_run { [folder, "", ".claude/context"] } else { ["", ".claude/context", folder] };
        bases.iter().for_each(|base| add(tree.inside(base, path)));
    } else {
        let own = [folder.to_owned(), format!("{folder}/artifacts")];
        let folders = own.iter().map(String::as_str).chain(USUAL_FOLDERS);
        for folder in folders {
            for ending in ["", ".json", ".md"] {
                add(tree.inside(folder, &format!("{}{ending}", entry.name)));
            }
        }
    }
    (found, leaves)
}

/// Returns what is wrong with the content, or None.
fn content(mut file: std::fs::File, size: u64, entry: &Entry, path: &str) -> Option<(Presence, String)> {
    let is_json = path.to_ascii_lowercase().ends_with(".json")
        || entry.kind.as_deref().is_some_and(|kind| kind.eq_ignore_ascii_case("json"));
    if size > CONTENT_LIMIT || !is_json && entry.digest.is_none() {
        return None;
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0) + 1);
    if let Err(error) = file.by_ref().take(CONTENT_LIMIT).read_to_end(&mut bytes) {
        return Some((Presence::Unreadable, format!("cannot be read ({})", error.kind())));
    }
    if let Some(digest) = &entry.digest {
        let seen: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        return (seen != *digest)
            .then(|| (Presence::Corrupt, "does not have the digest that the registry holds".to_owned()));
    }
    json::check(&bytes).err().map(|why| (Presence::Corrupt, why.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    struct Project(tempfile::TempDir, Tree);

    impl Project {
        fn new() -> Self {
            let top = tempfile::tempdir().unwrap();
            let tree = Tree::open(top.path()).unwrap();
            Self(top, tree)
        }

        fn write(&self, path: &str, text: &str) {
            let path = self.0.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn look(&self, entry: &Entry) -> Looked {
            look(&self.1, entry, ".claude/context/artifacts")
        }
    }

    fn entry(name: &str, path: Option<&str>) -> Entry {
        Entry {
            name: name.to_owned(),
            step: None,
            agent: None,
            path: path.map(str::to_owned),
            validation: Validation::Pass,
            dependencies: Vec::new(),
            size: None,
            digest: None,
            kind: None,
            time_s: None,
        }
    }

    #[test]
    fn whole_missing_and_corrupt() {
        let project = Project::new();
        project.write("a.json", "{}");
        project.write("half.json", "{\"a\": ");
        project.write("empty.md", "");
        project.write("notes.md", "no JSON {");
        project.write("typed", "no JSON {");
        project.write("folder/x", "x");
        fs::create_dir(project.0.path().join("void")).unwrap();
        for (path, is) in [
            ("a.json", Presence::Present),
            ("./a.json", Presence::Present),
            ("half.json", Presence::Corrupt),
            ("empty.md", Presence::Corrupt),
            ("notes.md", Presence::Present),
            ("folder", Presence::Present),
            ("void", Presence::Corrupt),
            ("none.json", Presence::Missing),
            ("a.json/x", Presence::Missing),
            ("../a.json", Presence::Outside),
            ("/etc/hostname", Presence::Outside),
        ] {
            assert_eq!(project.look(&entry("x", Some(path))).presence, is, "{path}");
        }
        let typed = Entry { kind: Some("json".to_owned()), ..entry("x", Some("typed")) };
        assert_eq!(project.look(&typed).presence, Presence::Corrupt);
        for other in [Validation::Fail, Validation::Pending, Validation::Unknown] {
            let entry = Entry { validation: other, ..entry("x", Some("none.json")) };
            assert_eq!(project.look(&entry).presence, Presence::NotChecked);
        }
    }

    #[test]
    fn a_digest_decides() {
        let project = Project::new();
        project.write("a.json", "abc");
        // SHA-256 of `abc`, from FIPS 180-2.
        let digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let good = Entry { digest: Some(digest.to_owned()), ..entry("x", Some("a.json")) };
        assert_eq!(project.look(&good).presence, Presence::Present);
        let bad = Entry { digest: Some(digest.replace('b', "c")), ..good };
        assert_eq!(project.look(&bad).presence, Presence::Corrupt);
    }

    #[test]
    fn every_reading_of_a_path() {
        let project = Project::new();
        project.write(".claude/context/artifacts/a.json", "{}");
        let root = project.0.path().to_str().unwrap().to_owned();
        for path in [
            ".claude/context/artifacts/a.json".to_owned(),
            "artifacts/a.json".to_owned(),
            "a.json".to_owned(),
            ".claude\\context\\artifacts\\a.json".to_owned(),
            format!("{root}/.claude/context/artifacts/a.json"),
        ] {
            let looked = project.look(&entry("x", Some(&path)));
            assert_eq!(looked.presence, Presence::Present, "{path}");
            assert_eq!(looked.path.as_deref(), Some(".claude/context/artifacts/a.json"));
        }
        for name in ["a", "a.json"] {
            assert_eq!(project.look(&entry(name, None)).presence, Presence::Present, "{name}");
        }
        assert_eq!(project.look(&entry("b", None)).presence, Presence::Missing);
    }

    #[test]
    fn in_the_folder_of_a_run_its_own_files_come_first() {
        let project = Project::new();
        project.write("artifacts/a.json", "{");
        project.write(".claude/context/runs/r/artifacts/a.json", "{}");
        let looked = look(&project.1, &entry("x", Some("artifacts/a.json")), ".claude/context/runs/r");
        assert_eq!(looked.presence, Presence::Present);
    }
}
