//! The file of a workflow: whether it is there, and whether it has the job a run is to go on with.

use std::path::Path;

use serde::Serialize;
use session_state::{Dir, FileKind};

use super::record::Record;

/// More than this is not searched.
const LIMIT: usize = 1024 * 1024;

/// What is known of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum WorkflowFile {
    /// It is there.
    Present {
        /// Whether it has the job; none: it cannot be told.
        has_job: Option<bool>,
    },
    /// The repository is there, the file is not.
    Missing,
    /// It cannot be looked at from here.
    NotKnown {
        /// Why.
        why: &'static str,
    },
}

/// Looks for the file the record names, and for the job in it; `repository_is_here` as the pass found it.
#[must_use]
pub fn of(record: &Record, job: Option<&str>, repository_is_here: bool) -> WorkflowFile {
    let path = Path::new(&record.workflow_path);
    let not_known = |why| WorkflowFile::NotKnown { why };
    if record.workflow_path.contains('\0') {
        return not_known("its path is no path");
    }
    // A relative path is meant from the repository.
    let path = match (&record.repository, path.is_absolute()) {
        (_, true) => path.to_owned(),
        (Some(repository), false) if Path::new(repository).is_absolute() => Path::new(repository).join(path),
        _ => return not_known("its path is relative, and no repository is recorded"),
    };
    let (Some(folder), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
        return not_known("its path is no file");
    };
    let repository =
        record.repository.as_deref().map(Path::new).filter(|repository| repository.is_absolute());
    let inside = repository.is_some_and(|repository| path.starts_with(repository));
    if inside && !repository_is_here {
        return not_known("it is not on this machine");
    }
    let absent = || if inside { WorkflowFile::Missing } else { not_known("it is not on this machine") };
    let Ok(folder) = Dir::open(folder) else { return absent() };
    match folder.stat(name).map(|stat| stat.kind) {
        None => absent(),
        Some(FileKind::File) => match folder.read(name, LIMIT) {
            Ok(bytes) => WorkflowFile::Present {
                has_job: job.and_then(|job| has_job(&String::from_utf8_lossy(&bytes), job)),
            },
            Err(_) => not_known("it cannot be read"),
        },
        Some(FileKind::Link) => WorkflowFile::Present { has_job: None },
        Some(FileKind::Folder | FileKind::Special) => not_known("it is no ordinary file"),
    }
}

/// Whether the block under `jobs:` has this key. None: the file is written in a way this look does not understand.
///
/// Only the keys one step below `jobs:` are looked at: the format is YAML, and one question does not need all of it.
fn has_job(text: &str, job: &str) -> Option<bool> {
    // The blocks around all jobs run under these names.
    if matches!(job, "pre" | "post") {
        return None;
    }
    let is_content = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let mut lines = text.trim_start_matches('\u{feff}').lines().filter(is_content);
    let head = lines.find(|line| line.starts_with("jobs:"))?;
    let rest = head["jobs:".len()..].trim();
    if !(rest.is_empty() || rest.starts_with('#')) {
        return None;
    }
    let indent = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let mut depth = None;
    for line in lines {
        let here = indent(line);
        if here == 0 {
            break;
        }
        if here > *depth.get_or_insert(here) {
            continue;
        }
        let line = line.trim();
        // An alias, a merge or a generated key: more jobs than the text shows.
        if line.starts_with(['<', '*', '&', '?', '{', '[', '\t']) {
            return None;
        }
        let key = ['"', '\'']
            .iter()
            .find_map(|quote| line.strip_prefix(*quote)?.split_once(*quote).map(|(key, _)| key))
            .or_else(|| line.split_once(':').map(|(key, _)| key.trim_end()))?;
        if key == job {
            return Some(true);
        }
    }
    depth.map(|_| false)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn jobs_are_the_keys_below_jobs() {
        let text = "name: x\nbuild: no\njobs:\n  # first\n  plan:\n    steps:\n      - name: build\n  \"ship it\":\n    needs: plan\nafter:\n  late:\n";
        for (job, expected) in [
            ("plan", Some(true)),
            ("ship it", Some(true)),
            ("build", Some(false)),
            ("steps", Some(false)),
            ("late", Some(false)),
            ("pre", None),
        ] {
            assert_eq!(has_job(text, job), expected, "{job}");
        }
        for unknown in ["", "name: x", "jobs: {plan: {}}", "jobs:\n  <<: *all\n", "jobs:\n", "{\"jobs\": {}}"]
        {
            assert_eq!(has_job(unknown, "plan"), None, "{unknown}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "(jobs:)?[ -~\n\t#:'\"]{0,200}", job in "[ -~]{1,8}") {
            let _ = has_job(&text, &job);
        }
    }
}
