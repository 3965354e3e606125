//! An open change of Comet Classic (FORMATS 8), and whether a request is about it: of the rows of the resume probe those
//! that need neither a process nor a guess. The others are for `recovery resume-probe`.

use rules::advice::{self, OpenChange};
use rules::change::{is_change_name, opts_out};
use rules::task_list::{boxes, split_id};
use rules::words::Words;
use session_state::{Dir, FileKind, FileStat, Now, Project, layout};

use crate::once::{Once, stamp};
use crate::owners::Owners;
use crate::{HISTORY_S, Scan, foreign};

/// No configuration or state is larger than this, in bytes.
const SETTINGS_LIMIT: usize = 16 * 1024;
/// Longer lists of tasks are not counted, in bytes.
const TASKS_LIMIT: usize = 64 * 1024;
/// With more changes than this nothing is said: they could not all be looked at.
const MAX_CHANGES: usize = 512;
/// By these a request says that it is in the flow of a change already.
const FLOW_COMMAND: &str = "/comet";

/// The change that was written last, for whoever starts; or the one that the first request names.
///
/// None also while another client is at work in the project: the change is in its hands.
pub(crate) fn find(scan: &Scan<'_>, owners: &Owners, root: &Dir) -> Option<Once> {
    let changes = Changes::open(scan.project, root)?;
    let request = match scan.request {
        Some(request) => Some(wish(request)?),
        None => None,
    };
    let open = changes.list(scan.now)?;
    if let Some(named) = request.as_ref().and_then(|request| named(&open, request)) {
        return changes.sentence(named, 0);
    }
    let newest = open.first().filter(|_| !owners.others_at_work(scan))?;
    changes.sentence(newest, open.len() - 1)
}

/// The change that a request names, if it was last written before `since_s`: later writes are the session's own, which is
/// in the flow of the change.
#[must_use]
pub fn asked_for(project: &Project, request: &str, since_s: i64, now: Now) -> Option<Once> {
    if !foreign::is_there(&project.root.join(layout::COMET)) {
        return None;
    }
    let root = project.open_root()?;
    let changes = Changes::open(project, &root)?;
    let open = changes.list(now)?;
    let named = named(&open, &wish(request)?).filter(|change| change.last_s < since_s)?;
    changes.sentence(named, 0)
}

/// What a person asks for. None: it has nothing to do with interrupted changes.
fn wish(request: &str) -> Option<Words> {
    let words = Words::of(request);
    (!request.trim_start().starts_with(FLOW_COMMAND) && !opts_out(&words)).then_some(words)
}

/// The change a request names; of several the one with the longest name, since names may lie in one another.
fn named<'a>(open: &'a [Change], request: &Words) -> Option<&'a Change> {
    open.iter().filter(|change| request.has(&change.name)).max_by_key(|change| change.name.len())
}

/// The folder of changes.
struct Changes(Dir);

/// A change that was written lately.
struct Change {
    name: String,
    state: FileStat,
    tasks: Option<FileStat>,
    last_s: i64,
}

impl Changes {
    /// None: no Comet project, or one that wants to hear nothing of interrupted changes.
    fn open(project: &Project, root: &Dir) -> Option<Self> {
        if !foreign::is_there(&project.root.join(layout::COMET)) {
            return None;
        }
        let config = root.folder(layout::COMET).ok()?.read(layout::COMET_CONFIG, SETTINGS_LIMIT).ok()?;
        if !wants_to_hear(&String::from_utf8_lossy(&config)) {
            return None;
        }
        let mut roots = layout::CHANGES.iter().filter_map(|path| foreign::folder(root, path));
        let changes = roots.next()?;
        // With both nobody can say which of them counts.
        roots.next().is_none().then_some(Self(changes))
    }

    /// The open changes, the last written first. None: there are too many.
    fn list(&self, now: Now) -> Option<Vec<Change>> {
        let names = self.0.names(MAX_CHANGES + 1);
        if names.len() > MAX_CHANGES {
            return None;
        }
        let is_open = |name: &String| name != layout::ARCHIVED_CHANGES && is_change_name(name);
        let mut open: Vec<Change> =
            names.into_iter().filter(is_open).filter_map(|name| self.look(name, now)).collect();
        open.sort_by(|a, b| b.last_s.cmp(&a.last_s).then_with(|| a.name.cmp(&b.name)));
        Some(open)
    }

    fn look(&self, name: String, now: Now) -> Option<Change> {
        let dir = self.0.folder(&name).ok()?;
        let file = |name| dir.stat(name).filter(|stat| stat.kind == FileKind::File);
        let (state, tasks) = (file(layout::CHANGE_STATE)?, file(layout::CHANGE_TASKS));
        let last_s = tasks.map_or(state.mtime_s, |tasks| tasks.mtime_s.max(state.mtime_s));
        (now.age_s(last_s) <= HISTORY_S).then_some(Change { name, state, tasks, last_s })
    }

    /// None: it is archived.
    fn sentence(&self, change: &Change, others: usize) -> Option<Once> {
        let dir = self.0.folder(&change.name).ok()?;
        let state = dir.read(layout::CHANGE_STATE, SETTINGS_LIMIT).unwrap_or_default();
        let state = String::from_utf8_lossy(&state);
        if setting(&state, "archived") == Some("true") {
            return None;
        }
        let tasks =
            dir.read(layout::CHANGE_TASKS, TASKS_LIMIT).ok().and_then(|text| String::from_utf8(text).ok());
        let tasks = tasks.as_deref().map(Tasks::of).filter(|tasks| tasks.all > 0);
        let sentence = advice::change_open(&OpenChange {
            name: &change.name,
            phase: setting(&state, "phase")
                .filter(|word| matches!(*word, "open" | "design" | "build" | "verify" | "archive")),
            tasks: tasks.as_ref().map(|tasks| (tasks.done, tasks.all)),
            next: tasks.as_ref().and_then(|tasks| tasks.next),
            others,
        });
        let subject = format!("{} {} {}", change.name, stamp(Some(change.state)), stamp(change.tasks));
        Some(Once::new("change", sentence, &subject))
    }
}

/// Whether a configuration is one of Comet Classic, in the version that is known, and does not turn this off.
fn wants_to_hear(config: &str) -> bool {
    let names_classic = || {
        let code = config.lines().filter_map(|line| line.split('#').next());
        code.flat_map(|line| line.split(|c: char| !c.is_alphanumeric())).any(|word| word == "classic")
    };
    setting(config, "schema") == Some("comet.project.v1")
        && !matches!(setting(config, "ambient_resume"), Some("false" | "False" | "FALSE"))
        && names_classic()
}

/// A plain value at the top of a YAML map, without its quotation marks and comment. What is written in any other way is
/// not known here.
fn setting<'a>(yaml: &'a str, name: &str) -> Option<&'a str> {
    let yaml = yaml.strip_prefix('\u{feff}').unwrap_or(yaml);
    yaml.lines().find_map(|line| {
        let value = line.strip_prefix(name)?.trim_start().strip_prefix(':')?;
        let value = value.split(" #").next()?.trim();
        Some(['"', '\''].iter().fold(value, |value, mark| {
            value.strip_prefix(*mark).and_then(|value| value.strip_suffix(*mark)).unwrap_or(value)
        }))
    })
}

/// What a list of tasks says at a glance.
#[derive(Debug, PartialEq, Eq)]
struct Tasks<'a> {
    done: usize,
    all: usize,
    next: Option<&'a str>,
}

impl<'a> Tasks<'a> {
    fn of(text: &'a str) -> Self {
        let mut tasks = Self { done: 0, all: 0, next: None };
        for item in boxes(text) {
            tasks.all += 1;
            if item.ticked {
                tasks.done += 1;
            } else if tasks.next.is_none() {
                // A damaged id is for the command to name.
                tasks.next = Some(split_id(item.rest).map_or(item.rest, |(_, text)| text));
            }
        }
        tasks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_at_the_top_alone() {
        let yaml = "\u{feff}a: 1\r\nb: \"two\" # why\nc : 'x'\n  d: in\nde: 5\nb: again\n";
        for (name, value) in
            [("a", Some("1")), ("b", Some("two")), ("c", Some("x")), ("d", None), ("e", None), ("", None)]
        {
            assert_eq!(setting(yaml, name), value, "{name}");
        }
    }

    #[test]
    fn who_wants_to_hear() {
        let head = "schema: comet.project.v1\n";
        for (config, wants) in [
            (format!("{head}workflows: [classic]\n"), true),
            (format!("{head}classic:\n  artifact_layout: docs\nambient_resume: true\n"), true),
            (format!("{head}classic:\nambient_resume: false\n"), false),
            (format!("{head}classic:\nambient_resume:   FALSE # please\n"), false),
            (format!("{head}workflows: [native]\n"), false),
            (format!("{head}workflows: [native] # not classic\n"), false),
            ("schema: comet.project.v2\nclassic:\n".to_owned(), false),
            ("workflows: [classic]\n".to_owned(), false),
            (String::new(), false),
        ] {
            assert_eq!(wants_to_hear(&config), wants, "{config}");
        }
    }

    #[test]
    fn tasks_at_a_glance() {
        let of = |text| {
            let tasks = Tasks::of(text);
            (tasks.done, tasks.all, tasks.next)
        };
        assert_eq!(
            of("# T\n- [x] a\n```\n- [ ] example\n```\n- [ ] b <!-- comet-task:b -->\n- [ ] c"),
            (1, 3, Some("b"))
        );
        assert_eq!(of("- [x] a\n"), (1, 1, None));
        assert_eq!(of("no list"), (0, 0, None));
    }

    #[test]
    fn what_a_person_wants_to_hear_nothing_of() {
        for (request, wanted) in [
            ("go on with sort-labels", true),
            ("without Comet, please", false),
            ("/comet-build sort-labels", false),
            ("不要恢复", false),
            ("", true),
        ] {
            assert_eq!(wish(request).is_some(), wanted, "{request}");
        }
    }
}
