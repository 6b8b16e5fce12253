//! Files that exist already: one rule for every command that writes one.

use std::path::Path;

/// Refuses to write over a file unless that was asked for; a folder is never written over.
///
/// # Errors
/// What stands in the way, and what to do.
pub fn may_write(path: &Path, force: bool) -> Result<(), String> {
    if path.is_dir() {
        return Err(format!("{} is a folder; choose another name with -o", path.display()));
    }
    if path.exists() && !force {
        let shown = path.display();
        return Err(format!(
            "{shown} exists already; choose another name with -o, or write over it with --force"
        ));
    }
    Ok(())
}

/// The same, and removes the file: for whoever creates it anew.
///
/// # Errors
/// As [`may_write`], and if it cannot be removed.
pub fn make_way(path: &Path, force: bool) -> Result<(), String> {
    may_write(path, force)?;
    if !path.exists() {
        return Ok(());
    }
    std::fs::remove_file(path).map_err(|e| format!("{} cannot be removed: {e}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_gives_way_only_when_asked_and_a_folder_never() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.pltrace");
        assert_eq!(make_way(&path, false), Ok(()));
        std::fs::write(&path, "mine").unwrap();
        assert!(make_way(&path, false).unwrap_err().contains("--force"));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
        assert_eq!(make_way(&path, true), Ok(()));
        assert!(!path.exists());
        assert!(make_way(folder.path(), true).unwrap_err().contains("is a folder"));
    }
}
