//! How hooks are wired to the client.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use serde_json::{Value, json};

use crate::{build_folder, process, repository};

const INSTALL_LIMIT: Duration = Duration::from_secs(60);

/// Which hooks a sandbox has, and by which way they get there.
#[derive(Clone, Debug)]
pub enum Wiring {
    /// `recovery install`: one program for all events.
    Default,
    /// `recovery install --separate`: the four programs.
    Separate,
    /// The repository as a plugin.
    Plugin,
    /// The same from a fresh clone: nothing is built, no program is on the search path.
    UnbuiltPlugin,
    /// [`Default`](Self::Default) and [`Plugin`](Self::Plugin) together.
    PluginAndSettings,
    /// Hooks of the test's own, written into the project's settings as they are.
    Raw(Vec<RawHook>),
}

/// One hook entry of a settings file.
#[derive(Clone, Debug)]
pub struct RawHook {
    event: String,
    matcher: Option<String>,
    entry: Value,
}

impl RawHook {
    /// A shell command.
    pub fn shell(event: &str, command: impl Into<String>) -> Self {
        Self {
            event: event.to_owned(),
            matcher: None,
            entry: json!({ "type": "command", "command": command.into() }),
        }
    }

    /// A program started without a shell.
    pub fn program(event: &str, program: &Path, args: &[&str]) -> Self {
        Self {
            event: event.to_owned(),
            matcher: None,
            entry: json!({ "type": "command", "command": program, "args": args }),
        }
    }

    /// Restricts it to what `matcher` matches.
    #[must_use]
    pub fn matching(mut self, matcher: &str) -> Self {
        self.matcher = Some(matcher.to_owned());
        self
    }

    /// Lets the client go on without waiting for it.
    #[must_use]
    pub fn in_background(mut self) -> Self {
        self.entry["async"] = json!(true);
        self
    }

    /// Sets its time limit in seconds.
    #[must_use]
    pub fn timeout_s(mut self, seconds: u32) -> Self {
        self.entry["timeout"] = json!(seconds);
        self
    }

    /// Prints `output` when `event` fires, and swallows the payload.
    pub fn printing(event: &str, output: &Value) -> Self {
        let quoted = output.to_string().replace('\'', r"'\''");
        Self::shell(event, format!("cat >/dev/null; printf '%s\\n' '{quoted}'"))
    }

    /// Puts each payload of `event` into a file of its own in `folder`.
    pub fn recording(event: &str, folder: &Path) -> Self {
        // Renamed at the end: a reader never sees half a payload.
        Self::shell(
            event,
            format!(
                "f=$(mktemp '{folder}/XXXXXXXX') && cat >\"$f\" && mv \"$f\" \"$f.json\"",
                folder = folder.display()
            ),
        )
    }
}

/// The settings object for a list of hooks.
pub(crate) fn settings(hooks: &[RawHook]) -> Value {
    let mut events = serde_json::Map::new();
    for hook in hooks {
        let mut group = json!({ "hooks": [hook.entry] });
        if let Some(matcher) = &hook.matcher {
            group["matcher"] = json!(matcher);
        }
        match events.entry(&hook.event).or_insert_with(|| json!([])) {
            Value::Array(groups) => groups.push(group),
            other => *other = json!([group]),
        }
    }
    json!({ "hooks": events })
}

/// Folder of the built programs.
pub fn program_folder() -> PathBuf {
    env::var_os("RECOVERY_BIN_DIR").map_or_else(build_folder, PathBuf::from)
}

/// Where a sandbox has its own copy of the plugin.
fn plugin_clone(project: &Path) -> PathBuf {
    project.with_file_name("plugin")
}

/// Copies what makes the repository a plugin, and nothing that was built in it.
fn clone_plugin(target: &Path) {
    for file in
        [".claude-plugin/plugin.json", ".claude-plugin/marketplace.json", "hooks/hooks.json", "Cargo.toml"]
    {
        let copy = target.join(file);
        fs::create_dir_all(copy.parent().expect("a file has a folder")).expect("the sandbox is writable");
        fs::copy(repository().join(file), copy).expect("the repository holds the plugin");
    }
}

impl Wiring {
    /// Wires the hooks of a project. `command` prepares a command with the sandbox's environment.
    pub(crate) fn apply(&self, project: &Path, command: impl Fn(&Path) -> Command) {
        match self {
            Self::Raw(hooks) => {
                let folder = project.join(".claude");
                fs::create_dir_all(&folder).expect("the project is writable");
                fs::write(folder.join("settings.json"), settings(hooks).to_string())
                    .expect("the project is writable");
            }
            Self::Default => install(project, &command, &[]),
            Self::PluginAndSettings => {
                require_plugin();
                install(project, &command, &[]);
            }
            Self::Separate => install(project, &command, &["--separate"]),
            Self::Plugin => require_plugin(),
            Self::UnbuiltPlugin => {
                require_plugin();
                clone_plugin(&plugin_clone(project));
            }
        }
    }

    /// How many times the client runs each hook that is wired to an event.
    pub(crate) fn copies(&self) -> usize {
        match self {
            Self::PluginAndSettings => 2,
            _ => 1,
        }
    }

    /// Extra arguments of the client.
    pub(crate) fn client_args(&self, project: &Path) -> Vec<String> {
        match self {
            Self::Plugin | Self::PluginAndSettings => {
                vec!["--plugin-dir".into(), repository().display().to_string()]
            }
            Self::UnbuiltPlugin => vec!["--plugin-dir".into(), plugin_clone(project).display().to_string()],
            _ => Vec::new(),
        }
    }

    /// Folder to be put on the client's search path: the plugin finds its program there.
    pub(crate) fn search_path(&self) -> Option<PathBuf> {
        matches!(self, Self::Plugin | Self::PluginAndSettings).then(|| {
            let folder = program_folder();
            require(&folder.join("recovery-hooks"));
            folder
        })
    }
}

fn install(project: &Path, command: impl Fn(&Path) -> Command, options: &[&str]) {
    let program = program_folder().join("recovery");
    require(&program);
    let mut command = command(&program);
    command.arg("install").arg("--project").arg(project).args(options);
    let finished = process::run(&mut command, INSTALL_LIMIT).expect("`recovery` starts");
    assert!(
        finished.is_success(),
        "`recovery install` failed ({:?}):\n{}{}",
        finished.status,
        finished.stdout,
        finished.stderr
    );
    assert!(
        project.join(".claude/settings.json").is_file(),
        "`recovery install` said it succeeded but wrote no .claude/settings.json:\n{}{}",
        finished.stdout,
        finished.stderr
    );
}

fn require_plugin() {
    let manifest = repository().join(".claude-plugin/plugin.json");
    assert!(manifest.is_file(), "{} is missing: the repository is no plugin", manifest.display());
}

fn require(program: &Path) {
    assert!(
        program.is_file(),
        "{} is missing: build the workspace first (`cargo build`), or name its folder in RECOVERY_BIN_DIR",
        program.display()
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_of_one_event_share_its_list() {
        let hooks = [
            RawHook::shell("Stop", "a"),
            RawHook::shell("Stop", "b").timeout_s(5),
            RawHook::program("PostToolUse", Path::new("/p"), &["x"]).matching("Bash").in_background(),
        ];
        assert_eq!(
            settings(&hooks),
            json!({ "hooks": {
                "Stop": [
                    { "hooks": [{ "type": "command", "command": "a" }] },
                    { "hooks": [{ "type": "command", "command": "b", "timeout": 5 }] },
                ],
                "PostToolUse": [
                    { "matcher": "Bash", "hooks": [{ "type": "command", "command": "/p", "args": ["x"], "async": true }] },
                ],
            }})
        );
    }
}
