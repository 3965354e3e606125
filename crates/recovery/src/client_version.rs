//! The version of the installed client, which decides which events may be written.

use std::{fmt, path::PathBuf, process::Command, str::FromStr, time::Duration};

use crate::environment::Environment;

/// Time the client has to print its version; a cold start of an older one takes about a second.
const TIME_LIMIT: Duration = Duration::from_secs(10);

/// The version that is assumed where none can be found: the newest one we know.
const ASSUMED: ClientVersion = ClientVersion::new(2, 1, 332);

/// A version of the client, such as 2.1.332.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ClientVersion {
    major: u32,
    minor: u32,
    patch: u32,
}

impl ClientVersion {
    pub(crate) const fn new(major: u32, minor: u32, patch: u32) -> Self {
        Self { major, minor, patch }
    }
}

impl fmt::Display for ClientVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// A text that is no version.
#[derive(Debug, thiserror::Error)]
#[error("a version has three numbers, as in 2.1.332")]
pub(crate) struct NotAVersion;

impl FromStr for ClientVersion {
    type Err = NotAVersion;

    /// Reads three numbers with dots between them; a suffix such as `-beta.1` is ignored.
    fn from_str(text: &str) -> Result<Self, NotAVersion> {
        let numbers = text.split(['-', '+']).next().unwrap_or_default();
        let mut parts = numbers.split('.').map(str::parse);
        match (parts.next(), parts.next(), parts.next(), parts.next()) {
            (Some(Ok(major)), Some(Ok(minor)), Some(Ok(patch)), None) => Ok(Self::new(major, minor, patch)),
            _ => Err(NotAVersion),
        }
    }
}

/// Where the version comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum VersionSource {
    /// `--client-version`.
    Given,
    /// The client at this path said so.
    Asked(PathBuf),
    /// The text is why nobody could be asked.
    Assumed(String),
}

/// Returns the client's version: the one given, else what the installed client says, else the newest known.
pub(crate) fn find(
    given: Option<ClientVersion>,
    environment: &Environment,
) -> (ClientVersion, VersionSource) {
    if let Some(version) = given {
        return (version, VersionSource::Given);
    }
    let Some(client) = installed_client(environment) else {
        return (ASSUMED, VersionSource::Assumed("no `claude` on the PATH".to_owned()));
    };
    match ask(&client) {
        Ok(version) => (version, VersionSource::Asked(client)),
        Err(why) => (ASSUMED, VersionSource::Assumed(format!("{} {why}", client.display()))),
    }
}

/// Returns the client's program: from the `PATH`, else where its own installers put it.
fn installed_client(environment: &Environment) -> Option<PathBuf> {
    let file = crate::programs::file_name("claude");
    let own_places =
        environment.home.iter().flat_map(|home| [home.join(".local/bin"), home.join(".claude/local")]);
    environment
        .find_on_path("claude")
        .or_else(|| own_places.map(|dir| dir.join(&file)).find(|path| path.is_file()))
}

fn ask(client: &std::path::Path) -> Result<ClientVersion, String> {
    let mut command = Command::new(client);
    // A look at the version must not start an update in the background.
    command.arg("--version").env("DISABLE_AUTOUPDATER", "1");
    let outcome = bounded_command::run(&mut command, TIME_LIMIT).map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&outcome.stdout);
    let first_word = text.split_whitespace().next().unwrap_or_default();
    first_word.parse().map_err(|NotAVersion| "printed no version".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_numbers_are_a_version_and_compare_as_numbers() {
        let parse = |text: &str| text.parse::<ClientVersion>().ok();
        assert_eq!(parse("2.1.332"), Some(ClientVersion::new(2, 1, 332)));
        assert_eq!(parse("2.1.9-beta.1+x"), Some(ClientVersion::new(2, 1, 9)));
        for text in ["", "2", "2.1", "2.1.x", "2.1.3.4", "v2.1.3", "2..3"] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert!(parse("2.1.9") < parse("2.1.77"));
        assert!(parse("1.9.999") < parse("2.0.0"));
    }
}
