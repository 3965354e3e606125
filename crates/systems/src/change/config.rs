//! `.comet/config.yaml`: what a project has set.

use super::yaml::{self, Value};

/// The version that is read.
const SCHEMA: &str = "comet.project.v1";
/// What all versions begin with.
const SCHEMA_FAMILY: &str = "comet.project.v";
/// More is no configuration.
pub(crate) const LIMIT: usize = 256 * 1024;

/// Where the artefacts of a project lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArtifactLayout {
    /// `docs/openspec/changes/`.
    Docs,
    /// `openspec/changes/`; also where nothing is set.
    Legacy,
}

impl ArtifactLayout {
    /// The word in the file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Docs => "docs",
            Self::Legacy => "legacy",
        }
    }

    /// The other one.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Docs => Self::Legacy,
            Self::Legacy => Self::Docs,
        }
    }
}

/// What of a configuration matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Where the artefacts lie.
    pub layout: ArtifactLayout,
    /// Whether interrupted changes may be brought up unasked; only an explicit `false` turns it off.
    pub ambient_resume: bool,
}

/// Why a configuration cannot be used; the texts go after the name of the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// It does not parse.
    #[error(transparent)]
    Yaml(#[from] yaml::YamlError),
    /// It is no map.
    #[error("is empty or no map of names and values")]
    NoMap,
    /// A later version wrote it.
    #[error("has schema {0}, which is newer than {SCHEMA}")]
    Newer(String),
    /// It is no configuration of this system.
    #[error("has no schema {SCHEMA}")]
    Foreign,
    /// Changes of this kind are not in use.
    #[error("does not enable the classic workflow")]
    NotEnabled,
    /// A value is not allowed.
    #[error("{field} must be {allowed}")]
    Invalid {
        /// Name.
        field: &'static str,
        /// What it may be.
        allowed: &'static str,
    },
}

/// Reads a configuration.
pub fn parse(text: &str) -> Result<Config, ConfigError> {
    let document = yaml::parse(text)?;
    if !matches!(document, Value::Map(_)) {
        return Err(ConfigError::NoMap);
    }
    match document.get("schema").and_then(Value::text) {
        Some(SCHEMA) => {}
        Some(other)
            if other.strip_prefix(SCHEMA_FAMILY).is_some_and(|v| v.parse::<u32>().is_ok_and(|v| v > 1)) =>
        {
            return Err(ConfigError::Newer(other.to_owned()));
        }
        _ => return Err(ConfigError::Foreign),
    }
    let classic = match document.get("classic") {
        None | Some(Value::Null) => None,
        Some(map @ Value::Map(_)) => Some(map),
        Some(_) => return Err(ConfigError::Invalid { field: "classic", allowed: "a map" }),
    };
    let enabled = match document.get("workflows") {
        Some(Value::List(list)) => list.iter().any(|item| item.text() == Some("classic")),
        None | Some(Value::Null) => match document.get("default_workflow").and_then(Value::text) {
            Some(word) => word == "classic",
            None => classic.is_some(),
        },
        Some(_) => return Err(ConfigError::Invalid { field: "workflows", allowed: "a list" }),
    };
    if !enabled {
        return Err(ConfigError::NotEnabled);
    }
    let layout = match classic.and_then(|classic| classic.get("artifact_layout")) {
        None | Some(Value::Null) => ArtifactLayout::Legacy,
        Some(value) => match value.text() {
            Some("docs") => ArtifactLayout::Docs,
            Some("legacy") => ArtifactLayout::Legacy,
            _ => {
                return Err(ConfigError::Invalid {
                    field: "classic.artifact_layout",
                    allowed: "docs or legacy",
                });
            }
        },
    };
    let ambient_resume = match document.get("ambient_resume") {
        None | Some(Value::Null) => true,
        Some(Value::Flag(flag)) => *flag,
        Some(_) => return Err(ConfigError::Invalid { field: "ambient_resume", allowed: "true or false" }),
    };
    Ok(Config { layout, ambient_resume })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configurations() {
        let head = "schema: comet.project.v1\n";
        let ok = |layout, ambient_resume| Ok(Config { layout, ambient_resume });
        use ArtifactLayout::{Docs, Legacy};
        for (rest, expected) in [
            ("workflows: [classic]\nclassic:\n  artifact_layout: docs\n", ok(Docs, true)),
            ("workflows:\n  - native\n  - classic\n", ok(Legacy, true)),
            ("default_workflow: classic\n", ok(Legacy, true)),
            ("classic:\n  language: en\n", ok(Legacy, true)),
            ("workflows: [classic]\nambient_resume: false\n", ok(Legacy, false)),
            (
                "workflows: [classic]\nambient_resume: off\n",
                Err(ConfigError::Invalid { field: "ambient_resume", allowed: "true or false" }),
            ),
            (
                "workflows: [classic]\nclassic:\n  artifact_layout: flat\n",
                Err(ConfigError::Invalid { field: "classic.artifact_layout", allowed: "docs or legacy" }),
            ),
            ("workflows: [native]\nclassic:\n  artifact_layout: docs\n", Err(ConfigError::NotEnabled)),
            ("default_workflow: native\n", Err(ConfigError::NotEnabled)),
            ("", Err(ConfigError::NotEnabled)),
            ("classic: [docs]", Err(ConfigError::Invalid { field: "classic", allowed: "a map" })),
        ] {
            assert_eq!(parse(&format!("{head}{rest}")), expected, "{rest}");
        }
        assert_eq!(parse("schema: comet.project.v2"), Err(ConfigError::Newer("comet.project.v2".into())));
        assert_eq!(parse("schema: other.v1"), Err(ConfigError::Foreign));
        assert_eq!(parse("default_workflow: classic"), Err(ConfigError::Foreign));
        assert_eq!(parse(""), Err(ConfigError::NoMap));
        assert!(matches!(parse("a: ["), Err(ConfigError::Yaml(_))));
    }
}
