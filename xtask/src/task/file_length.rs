//! The step `file-length`: a file that outgrows the limit wants to be split.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{self, Failure, Result};
use crate::summary::Tally;

const MAX_LINES: usize = 600;
const EXTENSIONS: &[&str] = &["rs", "ts", "py"];
/// Folders whose files nobody writes by hand.
const EXCLUDED: &[&str] = &["target", "node_modules", "dist", "generated"];

pub fn run() -> Result<Tally> {
    let root = process::root();
    let files = source_files(&root);
    if files.is_empty() {
        return Err(Failure::failed("found no source files"));
    }
    let mut too_long = Vec::new();
    for file in &files {
        // A tracked file may be deleted in the working copy.
        let Ok(bytes) = fs::read(root.join(file)) else { continue };
        let lines = bytes.iter().filter(|&&b| b == b'\n').count();
        if lines > MAX_LINES {
            too_long.push(format!("{} has {lines} lines", file.display()));
        }
    }
    if too_long.is_empty() {
        println!("{} files, none over {MAX_LINES} lines", files.len());
        return Ok(Tally::PASS);
    }
    Err(Failure::failed(format!("{} (at most {MAX_LINES} are allowed; split them)", too_long.join(", "))))
}

/// The source files that git knows, or all there are where there is no git.
fn source_files(root: &Path) -> Vec<PathBuf> {
    let mut files = tracked(root).unwrap_or_else(|| {
        let mut found = Vec::new();
        walk(root, Path::new(""), &mut found);
        found
    });
    files.retain(|file| is_source(file));
    files
}

fn tracked(root: &Path) -> Option<Vec<PathBuf>> {
    let output = Command::new("git").args(["ls-files", "-z"]).current_dir(root).output().ok()?;
    if !output.status.success() {
        return None;
    }
    let list = String::from_utf8_lossy(&output.stdout);
    Some(list.split('\0').filter(|name| !name.is_empty()).map(PathBuf::from).collect())
}

fn walk(root: &Path, folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = root.join(folder).read_dir() else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let path = folder.join(&name);
        let text = name.to_string_lossy();
        match entry.file_type() {
            Ok(kind) if kind.is_file() => found.push(path),
            Ok(kind) if kind.is_dir() && !text.starts_with('.') && !EXCLUDED.contains(&&*text) => {
                walk(root, &path, found);
            }
            _ => {}
        }
    }
}

fn is_source(file: &Path) -> bool {
    let known = file.extension().is_some_and(|e| EXTENSIONS.iter().any(|known| e == *known));
    known && !file.components().any(|part| EXCLUDED.iter().any(|name| part.as_os_str() == *name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_written_source_counts() {
        assert!(is_source(Path::new("xtask/src/main.rs")));
        assert!(is_source(Path::new("viewer/src/timeline.ts")));
        assert!(!is_source(Path::new("README.md")));
        assert!(!is_source(Path::new("viewer/dist/bundle.ts")));
        assert!(!is_source(Path::new("crates/x/src/generated/table.rs")));
    }

    #[test]
    fn files_are_found_with_and_without_git() {
        let root = process::root();
        let mut walked = Vec::new();
        walk(&root, Path::new(""), &mut walked);
        let this = Path::new("xtask/src/task/file_length.rs");
        assert!(walked.iter().any(|file| file == this));
        assert!(walked.iter().all(|file| !file.starts_with("target")));
        assert!(source_files(&root).iter().all(|file| is_source(file)));
    }
}
