//! Many ticks and many panes: nothing grows, and a tick is cheap.

use std::fs;

use crate::client::View;
use crate::limits::{BANNER, limit};
use crate::night::{Night, session_of};

/// Panes at any time of the soak.
const PANES: usize = 6;

/// Resident memory in KiB.
fn resident_kib() -> u64 {
    let statm = fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4
}

/// Ticks while a pane closes and another opens every other minute; every seventh is limited, every fifth is killed.
fn soak(ticks: usize) -> [(usize, u64, u64); 2] {
    let mut night = Night::new();
    let mut next = 0_usize;
    let mut figures = Vec::new();
    for tick in 0..ticks {
        if tick.is_multiple_of(2) {
            let id = format!("%{next}");
            night.hooked(&id);
            if next.is_multiple_of(7) {
                limit(&night, &id, BANNER, View::Line);
            }
            if next >= PANES {
                let old = format!("%{}", next - PANES);
                if (next - PANES).is_multiple_of(5) {
                    night.stage().kill(&old);
                }
                night.stage().close(&old);
                if next >= 2 * PANES {
                    // Retention takes its folder after a while, the client its file.
                    let gone = session_of(&format!("%{}", next - 2 * PANES));
                    fs::remove_dir_all(night.session_folder(&gone)).unwrap();
                    night.stage().left_behind.retain(|client| client.session_id != gone);
                }
            }
            next += 1;
        }
        night.minutes(1);
        // Three intervals are still one step.
        night.stage().pass(120_000);
        night.stage().sent.clear();
        night.stage().heard.clear();
        if tick + 1 == ticks / 2 || tick + 1 == ticks {
            let size = fs::metadata(night.folder().join("panes.json")).unwrap().len();
            figures.push((night.watcher().remembered(), size, resident_kib()));
        }
    }
    figures.try_into().unwrap()
}

#[test]
fn the_memory_of_panes_stops_growing() {
    // Four days: a pane that got a key is remembered for two.
    let [early, late] = soak(2_000);
    assert!(late.1 <= early.1 + early.1 / 4, "bytes on disk: {early:?} {late:?}");
}

/// Minutes without optimisation, and figures that mean nothing then: `cargo xtask bench-watch` runs these.
#[cfg(not(debug_assertions))]
mod figures {
    use session_state::status::{self, Status};
    use session_state::{Session, heartbeat};

    use super::*;

    /// Processor time of this thread in nanoseconds.
    fn cpu_ns() -> u64 {
        let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
        text.split(' ').next().unwrap().parse().unwrap()
    }

    #[test]
    fn nothing_grows_over_ten_thousand_ticks() {
        let [early, late] = soak(10_000);
        eprintln!(
            "remembered, bytes on disk, resident KiB: after 5,000 ticks {early:?}, after 10,000 {late:?}"
        );
        assert!(late.0 <= early.0 + early.0 / 4, "remembered: {early:?} {late:?}");
        assert!(late.1 <= early.1 + early.1 / 4, "bytes on disk: {early:?} {late:?}");
        // Kibibytes of an allocator: a leak of a pane a tick would be more than this.
        assert!(late.2 * 4 <= early.2 * 5, "resident: {early:?} {late:?}");
    }

    /// 200 panes with sessions, 300 more folders of sessions that ended or were killed.
    fn crowd() -> Night {
        let night = Night::new();
        for number in 0..200 {
            let id = format!("%{number}");
            if number % 4 == 3 {
                night.bare(&id)
            } else {
                night.hooked(&id)
            }
            if number % 10 == 0 {
                limit(&night, &id, BANNER, View::Line);
            }
        }
        let now = night.now();
        for number in 0..350 {
            let session = Session::make(&night.project, &format!("old-{number}")).unwrap();
            heartbeat::beat(&session.dir, now).unwrap();
            if number % 2 == 0 {
                status::write(&session.dir, Status::Ended).unwrap();
            }
        }
        night
    }

    #[test]
    fn a_tick_over_two_hundred_panes_is_cheap() {
        let mut night = crowd();
        night.minutes(2);
        let before = cpu_ns();
        night.minutes(10);
        let tick_ms = (cpu_ns() - before) / 10 / 1_000_000;
        eprintln!(
            "200 panes, 500 session folders: {tick_ms} ms of processor a tick, {} KiB resident",
            resident_kib()
        );
        assert!(tick_ms <= 1_000);
        assert!(resident_kib() <= 40 * 1_024);
    }
}
