use super::*;

fn names_in(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_file_is_made_replaced_and_removed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("settings.json");
    let missing = SettingsFile::read(&path).unwrap();
    assert_eq!(missing.bytes, None);
    missing.replace(b"one").unwrap();
    let one = SettingsFile::read(&path).unwrap();
    assert_eq!(one.bytes.as_deref(), Some(b"one".as_slice()));
    one.replace(b"two").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"two");
    assert_eq!(names_in(dir.path()), ["settings.json"], "nothing is left beside it");
    SettingsFile::read(&path).unwrap().remove().unwrap();
    assert_eq!(names_in(dir.path()), [""; 0]);
}

#[test]
fn a_change_by_somebody_else_is_never_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("settings.json");
    let missing = SettingsFile::read(&path).unwrap();
    fs::write(&path, "theirs").unwrap();
    assert!(matches!(missing.replace(b"ours"), Err(FileError::Changed { .. })));
    let seen = SettingsFile::read(&path).unwrap();
    fs::write(&path, "theirs again").unwrap();
    assert!(matches!(seen.replace(b"ours"), Err(FileError::Changed { .. })));
    assert!(matches!(seen.remove(), Err(FileError::Changed { .. })));
    assert_eq!(fs::read(&path).unwrap(), b"theirs again");
    assert_eq!(names_in(dir.path()), ["settings.json"]);
}

#[test]
fn a_folder_in_the_place_of_the_file_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    assert!(matches!(SettingsFile::read(dir.path()), Err(FileError::NotAFile { .. })));
}

#[test]
fn more_than_any_settings_file_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("settings.json");
    for (size, fits) in [(LARGEST, true), (LARGEST + 1, false)] {
        File::create(&path).unwrap().set_len(size).unwrap();
        assert_eq!(SettingsFile::read(&path).is_ok(), fits, "{size}");
    }
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn the_mode_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("settings.json");
        for mode in [0o600, 0o640, 0o664] {
            fs::write(&path, "x").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            SettingsFile::read(&path).unwrap().replace(b"y").unwrap();
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, mode);
        }
    }

    #[test]
    fn a_link_stays_a_link_and_its_target_is_edited() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("dotfiles")).unwrap();
        let target = dir.path().join("dotfiles/settings.json");
        let link = dir.path().join("settings.json");
        fs::write(&target, "one").unwrap();
        symlink("dotfiles/settings.json", &link).unwrap();
        SettingsFile::read(&link).unwrap().replace(b"two").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&target).unwrap(), b"two");
        assert_eq!(names_in(dir.path()), ["dotfiles", "settings.json"]);
    }

    #[test]
    fn a_missing_file_behind_linked_folders_has_the_name_it_will_have() {
        let dir = tempfile::tempdir().unwrap();
        let real = dir.path().canonicalize().unwrap().join("real");
        fs::create_dir(&real).unwrap();
        symlink(&real, dir.path().join("link")).unwrap();
        let missing = SettingsFile::read(&dir.path().join("link/.claude/settings.json")).unwrap();
        assert_eq!(missing.target(), real.join(".claude/settings.json"));
        fs::create_dir(real.join(".claude")).unwrap();
        missing.replace(b"x").unwrap();
        let there = SettingsFile::read(&dir.path().join("link/.claude/settings.json")).unwrap();
        assert_eq!(there.target(), missing.target());
    }

    #[test]
    fn a_link_to_nowhere_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("settings.json");
        symlink("gone.json", &link).unwrap();
        assert!(matches!(SettingsFile::read(&link), Err(FileError::DanglingLink { .. })));
    }
}
