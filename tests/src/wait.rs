//! Waiting for conditions.

use std::{
    thread,
    time::{Duration, Instant},
};

const PAUSE: Duration = Duration::from_millis(20);

/// Waits until `condition` holds; fails the test after `limit` with a message that names `what`.
#[track_caller]
pub fn wait_until(limit: Duration, what: &str, mut condition: impl FnMut() -> bool) {
    wait_for(limit, what, || condition().then_some(()));
}

/// Waits until `look` returns something; fails the test after `limit` with a message that names `what`.
#[track_caller]
pub fn wait_for<T>(limit: Duration, what: &str, look: impl FnMut() -> Option<T>) -> T {
    match try_wait_for(limit, look) {
        Some(found) => found,
        None => panic!("waited {} s in vain for {what}", limit.as_secs()),
    }
}

/// Waits until `look` returns something, at most `limit`.
pub fn try_wait_for<T>(limit: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let deadline = Instant::now() + limit;
    loop {
        if let Some(found) = look() {
            return Some(found);
        }
        if Instant::now() >= deadline {
            return None;
        }
        thread::sleep(PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_in_time_is_returned() {
        let mut looks = 0;
        let found = try_wait_for(Duration::from_secs(5), || {
            looks += 1;
            (looks == 3).then_some(looks)
        });
        assert_eq!(found, Some(3));
    }

    #[test]
    fn what_never_comes_ends_the_wait() {
        assert_eq!(try_wait_for(Duration::ZERO, || None::<()>), None);
    }
}
