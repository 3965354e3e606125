//! `.comet/delivery.json`: what may be done with an archived change. It is an authorisation, not a proof: only git can
//! tell whether it was done.

use serde::Serialize;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::state::{State, is_sha256};
use super::strict_json::{self, StrictError, clean_text};
use super::tasks::hex;

/// More is no delivery.
pub(crate) const LIMIT: usize = 64 * 1024;

/// What may be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// Keep the commit here.
    Local,
    /// Push the branch.
    Push,
    /// Push and open a pull request.
    Pr,
}

/// An authorisation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The change it speaks of.
    pub change_identity: String,
    /// What may be done.
    pub action: Action,
    /// Branch.
    pub target_branch: String,
    /// Name of the remote.
    pub remote: Option<String>,
    /// Its address, as authorised.
    pub authorized_remote_url: Option<String>,
    /// Ties evidence to this authorisation; very old files have none.
    pub authorization_id: Option<String>,
    /// The commit of the archive, lower case.
    pub commit: Option<String>,
    /// The pull request.
    pub pr_url: Option<String>,
}

/// Evidence of a delivery, kept outside of the change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The change.
    pub change_identity: String,
    /// The authorisation it belongs to.
    pub authorization_id: String,
    /// Whether the authorisation was taken back.
    pub invalidated: bool,
    /// The commit of the archive, lower case.
    pub commit: Option<String>,
    /// The pull request.
    pub pr_url: Option<String>,
}

/// Why bytes are no delivery or receipt; the texts go after the name of the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeliveryError {
    /// It has not the form of the file.
    #[error(transparent)]
    Strict(#[from] StrictError),
    /// The change cannot be told apart from others.
    #[error("cannot be matched: .comet.yaml has neither run_id nor created_at with base_ref")]
    NoIdentity,
    /// It speaks of another change.
    #[error("belongs to another change")]
    Foreign,
}

/// A text that is there, is clean and passes; None when it is not there.
fn optional(
    fields: &Map<String, Value>,
    field: &'static str,
    allowed: &'static str,
    passes: impl Fn(&str) -> bool,
) -> Result<Option<String>, DeliveryError> {
    match fields.get(field) {
        None => Ok(None),
        Some(value) => match clean_text(value).filter(|text| passes(text)) {
            Some(text) => Ok(Some(text)),
            None => Err(StrictError::Invalid { field, allowed }.into()),
        },
    }
}

fn needed(
    fields: &Map<String, Value>,
    field: &'static str,
    allowed: &'static str,
    passes: impl Fn(&str) -> bool,
) -> Result<String, DeliveryError> {
    optional(fields, field, allowed, passes)?.ok_or_else(|| StrictError::Invalid { field, allowed }.into())
}

const IDENTITY: &str = "run:<id> or legacy:<64 hexadecimal digits>";

fn is_identity(text: &str) -> bool {
    match text.split_once(':') {
        Some(("run", id)) => !id.is_empty(),
        Some(("legacy", digest)) => is_sha256(digest),
        _ => false,
    }
}

fn commit(fields: &Map<String, Value>) -> Result<Option<String>, DeliveryError> {
    let is_commit = |text: &str| matches!(text.len(), 40 | 64) && text.bytes().all(|b| b.is_ascii_hexdigit());
    Ok(optional(fields, "commit", "40 or 64 hexadecimal digits", is_commit)?
        .map(|text| text.to_ascii_lowercase()))
}

fn pr_url(fields: &Map<String, Value>) -> Result<Option<String>, DeliveryError> {
    optional(fields, "prUrl", "an https address without a user", |text| {
        text.strip_prefix("https://").is_some_and(|rest| {
            let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
            !host.is_empty() && !host.contains('@') && !text.contains(char::is_whitespace)
        })
    })
}

/// Reads an authorisation.
pub fn parse(bytes: &[u8]) -> Result<Delivery, DeliveryError> {
    let fields = strict_json::object(
        bytes,
        &[
            "schemaVersion",
            "changeIdentity",
            "action",
            "targetBranch",
            "remote",
            "authorizedRemoteUrl",
            "authorizationId",
            "commit",
            "prUrl",
        ],
    )?;
    let action = match fields.get("action").and_then(Value::as_str) {
        Some("local") => Action::Local,
        Some("push") => Action::Push,
        Some("pr") => Action::Pr,
        _ => return Err(StrictError::Invalid { field: "action", allowed: "local, push or pr" }.into()),
    };
    Ok(Delivery {
        change_identity: needed(&fields, "changeIdentity", IDENTITY, is_identity)?,
        action,
        target_branch: needed(&fields, "targetBranch", "a plain name of a branch", is_branch)?,
        remote: optional(&fields, "remote", "a name, not an address", is_remote_name)?,
        authorized_remote_url: optional(&fields, "authorizedRemoteUrl", "text", |_| true)?,
        authorization_id: optional(&fields, "authorizationId", "text", |_| true)?,
        commit: commit(&fields)?,
        pr_url: pr_url(&fields)?,
    })
}

fn is_branch(text: &str) -> bool {
    !text.starts_with('-')
        && !text.contains("..")
        && !text.contains("@{")
        && !text
            .contains(|c: char| c.is_whitespace() || matches!(c, '~' | '^' | ':' | '?' | '*' | '[' | '\\'))
}

fn is_remote_name(text: &str) -> bool {
    text.len() <= 100
        && text.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
}

/// Reads a receipt.
pub fn parse_receipt(bytes: &[u8]) -> Result<Receipt, DeliveryError> {
    let fields = strict_json::object(
        bytes,
        &["schemaVersion", "changeIdentity", "authorizationId", "invalidated", "commit", "prUrl"],
    )?;
    let invalidated = match fields.get("invalidated") {
        None => false,
        Some(Value::Bool(flag)) => *flag,
        Some(_) => return Err(StrictError::Invalid { field: "invalidated", allowed: "true or false" }.into()),
    };
    Ok(Receipt {
        change_identity: needed(&fields, "changeIdentity", IDENTITY, is_identity)?,
        authorization_id: needed(&fields, "authorizationId", "text", |_| true)?,
        invalidated,
        commit: commit(&fields)?,
        pr_url: pr_url(&fields)?,
    })
}

/// Returns what tells a change apart from others through its move to the archive: its run, or for older ones a digest
/// of its name, its day and its base.
pub fn identity(state: &State, name: &str) -> Result<String, DeliveryError> {
    if let Some(run) = &state.run_id {
        return Ok(format!("run:{run}"));
    }
    let (Some(created), Some(base)) = (&state.created_at, &state.base_ref) else {
        return Err(DeliveryError::NoIdentity);
    };
    // Three texts: there is nothing that could fail.
    let listed = serde_json::to_string(&[name, created, base]).unwrap_or_default();
    Ok(format!("legacy:{}", hex(&Sha256::digest(listed.as_bytes()))))
}

/// Name of the receipt of a change.
#[must_use]
pub fn receipt_name(identity: &str) -> String {
    format!("{}.json", hex(&Sha256::digest(identity.as_bytes())))
}

/// How far a delivery is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Status {
    /// Done, as far as git can tell here.
    Complete,
    /// Authorised; not proven.
    NeedsVerification,
    /// Nobody authorised anything, or it was taken back.
    NeedsAuthorization,
}

/// What git says of the remote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum RemoteStatus {
    /// Nobody asked.
    NotChecked,
    /// The branch of the remote, as last seen here, has the commit.
    Verified,
    /// It does not.
    Missing,
    /// The remote has another address than was authorised, or was never seen here.
    Unavailable,
}

/// What git says, read-only and without the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitFacts {
    /// Branch that is checked out.
    pub current_branch: Option<String>,
    /// The commit of the archive: recorded, else found in the last commits.
    pub commit: Option<String>,
    /// Whether it exists.
    pub commit_exists: bool,
    /// Whether it holds the archived change, is part of the branch, and nothing of the change was altered since.
    pub archive_committed: bool,
    /// The remote.
    pub remote: RemoteStatus,
    /// Whether any branch of any remote, as last seen here, has the commit.
    pub on_a_remote: bool,
}

/// Whether somebody still has to do something about a delivery. Milder than [`judge`]: another branch may be checked
/// out by now, and a branch that was merged is gone.
#[must_use]
pub fn is_open(delivery: &Delivery, facts: &GitFacts) -> bool {
    let elsewhere = delivery.action == Action::Local || facts.on_a_remote;
    !(facts.commit_exists && facts.archive_committed && elsewhere)
}

/// Judges a delivery by what git says.
#[must_use]
pub fn judge(delivery: &Delivery, bound_branch: Option<&str>, facts: &GitFacts) -> Status {
    let here = facts.current_branch.as_deref();
    let local = here == Some(&*delivery.target_branch)
        && bound_branch.is_none_or(|bound| here == Some(bound))
        && facts.commit_exists
        && facts.archive_committed;
    let delivered = match delivery.action {
        Action::Local => true,
        Action::Push => facts.remote == RemoteStatus::Verified,
        // A pull request is not in the repository.
        Action::Pr => false,
    };
    if local && delivered { Status::Complete } else { Status::NeedsVerification }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::change::state::tests::least;

    fn given(field: &str, value: Value) -> Result<Delivery, DeliveryError> {
        let mut whole = json!({"schemaVersion": 1, "changeIdentity": format!("legacy:{}", "0".repeat(64)),
            "action": "push", "targetBranch": "main", "authorizationId": "x"});
        whole[field] = value;
        parse(whole.to_string().as_bytes())
    }

    #[test]
    fn fields() {
        for (field, value, valid) in [
            ("action", json!("local"), true),
            ("action", json!("publish"), false),
            ("targetBranch", json!("feat/a.b"), true),
            ("targetBranch", json!("--force"), false),
            ("targetBranch", json!("a..b"), false),
            ("targetBranch", json!("a b"), false),
            ("targetBranch", json!("a@{1}"), false),
            ("remote", json!("origin"), true),
            ("remote", json!("r".repeat(100)), true),
            ("remote", json!("r".repeat(101)), false),
            ("remote", json!("https://example.com/x"), false),
            ("remote", json!("-u"), false),
            ("commit", json!("A".repeat(40)), true),
            ("commit", json!("a".repeat(64)), true),
            ("commit", json!("a".repeat(41)), false),
            ("prUrl", json!("https://example.com/a/b/pull/1"), true),
            ("prUrl", json!("http://example.com/a/b/pull/1"), false),
            ("prUrl", json!("https://u:p@example.com/a"), false),
            ("changeIdentity", json!("run:7"), true),
            ("changeIdentity", json!("run:"), false),
            ("changeIdentity", json!("legacy:7"), false),
            ("authorizationId", json!("\u{1b}"), false),
            ("schemaVersion", json!(0), false),
            ("more", json!(1), false),
        ] {
            assert_eq!(given(field, value.clone()).is_ok(), valid, "{field}: {value}");
        }
        assert_eq!(given("schemaVersion", json!(2)), Err(StrictError::Newer(2).into()));
        assert_eq!(given("commit", json!("A".repeat(40))).unwrap().commit.unwrap(), "a".repeat(40));
    }

    #[test]
    fn who_a_change_is() {
        let dated = least("created_at: 2026-01-02\nbase_ref: abc").unwrap();
        let digest = hex(&Sha256::digest(br#"["tidy","2026-01-02","abc"]"#));
        assert_eq!(identity(&dated, "tidy").unwrap(), format!("legacy:{digest}"));
        assert_eq!(identity(&least("run_id: r7").unwrap(), "tidy").unwrap(), "run:r7");
        assert_eq!(identity(&least("base_ref: abc").unwrap(), "tidy"), Err(DeliveryError::NoIdentity));
    }

    #[test]
    fn judged_by_git() {
        let facts = |commit_exists, archive_committed, remote| GitFacts {
            current_branch: Some("main".into()),
            commit: Some("a".repeat(40)),
            commit_exists,
            archive_committed,
            remote,
            on_a_remote: remote == RemoteStatus::Verified,
        };
        use RemoteStatus::{Missing, NotChecked, Unavailable, Verified};
        let delivery = |action: &str| given("action", json!(action)).unwrap();
        for (action, facts, bound, status) in [
            ("local", facts(true, true, NotChecked), None, Status::Complete),
            ("local", facts(true, true, NotChecked), Some("main"), Status::Complete),
            ("local", facts(true, true, NotChecked), Some("other"), Status::NeedsVerification),
            ("local", facts(true, false, NotChecked), None, Status::NeedsVerification),
            ("local", facts(false, true, NotChecked), None, Status::NeedsVerification),
            ("push", facts(true, true, Verified), None, Status::Complete),
            ("push", facts(true, true, Missing), None, Status::NeedsVerification),
            ("push", facts(true, true, Unavailable), None, Status::NeedsVerification),
            ("pr", facts(true, true, Verified), None, Status::NeedsVerification),
        ] {
            assert_eq!(judge(&delivery(action), bound, &facts), status, "{action} {facts:?}");
            let settled = facts.commit_exists
                && facts.archive_committed
                && (action == "local" || facts.remote == RemoteStatus::Verified);
            assert_eq!(is_open(&delivery(action), &facts), !settled, "{action} {facts:?}");
        }
        let mut elsewhere = facts(true, true, NotChecked);
        elsewhere.current_branch = Some("feat".into());
        assert_eq!(judge(&delivery("local"), None, &elsewhere), Status::NeedsVerification);
    }

    #[test]
    fn receipts() {
        let receipt = |more: Value| {
            let mut whole = json!({"schemaVersion": 1, "changeIdentity": "run:7", "authorizationId": "x"});
            whole.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            parse_receipt(whole.to_string().as_bytes())
        };
        assert!(!receipt(json!({})).unwrap().invalidated);
        assert!(receipt(json!({"invalidated": true})).unwrap().invalidated);
        assert!(receipt(json!({"invalidated": 1})).is_err());
        assert!(receipt(json!({"action": "push"})).is_err());
    }
}
