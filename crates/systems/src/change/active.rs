//! The changes a person might mean: the active ones, and the archived ones whose delivery is open.

use super::delivery::{Action, Delivery};
use super::probe::{Active, Named, Standing};
use super::project::ChangeFolder;
use super::project::{CometProject, Found, TASKS, TEXT_LIMIT, archived_name, read_text};
use super::state::{Phase, State};
use super::summary::{delivery_files, state_of};
use super::tasks;

/// With more active changes only those that are named, and a few to choose from, are read.
const READ_ALL: usize = 32;
/// How many are read to choose from.
const TO_CHOOSE: usize = 6;
/// Deliveries that git is asked about.
const DELIVERIES: usize = 8;
/// Texts that tell what a change is about.
const TEXTS: [&str; 3] = ["proposal.md", "design.md", TASKS];

/// What was found.
#[derive(Debug)]
pub struct Gathered {
    /// Changes that were read.
    pub changes: Vec<Active>,
    /// How many more there are.
    pub others: usize,
}

/// Finds the changes a request may mean. `is_open` asks git whether a delivery still has to be made.
#[must_use]
pub fn gather(
    project: &CometProject,
    utterance: &str,
    is_open: &mut dyn FnMut(&ChangeFolder, &State, &Delivery) -> bool,
) -> Gathered {
    let mut candidates = project.candidates();
    let all = candidates.len();
    if all > READ_ALL {
        let named = Named::in_request(utterance);
        candidates.sort_by_cached_key(|candidate| {
            (!named.has(&candidate.name), std::cmp::Reverse(project.last_written_s(candidate)))
        });
        let count = candidates.iter().take_while(|candidate| named.has(&candidate.name)).count();
        candidates.truncate(count.min(READ_ALL) + TO_CHOOSE);
    }
    let mut others = all - candidates.len();
    let mut changes: Vec<Active> = Vec::new();
    for candidate in &candidates {
        if let Ok(folder) = project.change(&candidate.name) {
            changes.extend(active(&folder));
        } else if candidate.is_link {
            let why = "its folder is a link, which is not followed".to_owned();
            changes.push(Active {
                name: candidate.name.clone(),
                standing: Standing::Invalid(why),
                tasks: None,
                next_task: None,
            });
        }
    }
    let mut asked = 0;
    for folder in project.archived_with_delivery() {
        if archived_name(&folder).is_none_or(|name| changes.iter().any(|change| change.name == name)) {
            continue;
        }
        asked += 1;
        if asked > DELIVERIES {
            // Older ones were there before the newest were delivered; they are counted only where more are open anyway.
            others += usize::from(!changes.is_empty());
            continue;
        }
        if let Ok(folder) = project.change(&folder) {
            changes.extend(undelivered(project, &folder, is_open));
        }
    }
    Gathered { changes, others }
}

/// The texts of a change, the active or archived one of this name.
#[must_use]
pub fn texts(project: &CometProject, name: &str) -> Vec<String> {
    let Ok(folder) = project.change(name) else { return Vec::new() };
    TEXTS
        .iter()
        .filter_map(|file| match read_text(&folder.dir, file, TEXT_LIMIT) {
            Found::Text(text) => Some(text),
            _ => None,
        })
        .collect()
}

fn active(folder: &ChangeFolder) -> Option<Active> {
    let standing = match state_of(folder) {
        Ok(None) => Standing::NoState,
        Err(faults) => Standing::Invalid(faults.in_words()),
        Ok(Some(state)) if state.archived => return None,
        Ok(Some(state)) => Standing::Valid(Box::new(state)),
    };
    Some(with_tasks(folder, standing))
}

fn undelivered(
    project: &CometProject,
    folder: &ChangeFolder,
    is_open: &mut dyn FnMut(&ChangeFolder, &State, &Delivery) -> bool,
) -> Option<Active> {
    let standing = match state_of(folder) {
        Ok(Some(state)) if state.archived && state.phase == Phase::Archive => {
            match delivery_files(project, folder, &state) {
                Ok(files) => {
                    let delivery = files.delivery.filter(|_| !files.invalidated)?;
                    if !is_open(folder, &state, &delivery) {
                        return None;
                    }
                    Standing::Delivery(Box::new(state), in_words(&delivery))
                }
                Err((file, why)) => Standing::DeliveryUnknown(Some(Box::new(state)), format!("{file} {why}")),
            }
        }
        Ok(_) => return None,
        Err(faults) => Standing::DeliveryUnknown(None, format!(".comet.yaml {}", faults.in_words())),
    };
    Some(with_tasks(folder, standing))
}

fn in_words(delivery: &Delivery) -> String {
    let branch = &delivery.target_branch;
    let remote = delivery.remote.as_deref().unwrap_or("the remote");
    match delivery.action {
        Action::Local => format!("its commit on {branch}"),
        Action::Push => format!("its push to {remote}, branch {branch}"),
        Action::Pr => format!("its pull request from {branch} on {remote}"),
    }
}

fn with_tasks(folder: &ChangeFolder, standing: Standing) -> Active {
    let known = match read_text(&folder.dir, TASKS, TEXT_LIMIT) {
        Found::Text(text) => tasks::parse(&text).ok(),
        _ => None,
    };
    Active {
        name: folder.name.clone(),
        standing,
        tasks: known.as_ref().map(|known| (known.iter().filter(|task| task.completed).count(), known.len())),
        next_task: known
            .and_then(|known| known.into_iter().find(|task| !task.completed))
            .map(|task| task.text),
    }
}
