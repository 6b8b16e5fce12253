//! `cargo xtask package`: packs every crate and the Python package as they would be published, unpacks them elsewhere,
//! and builds and tries them there.
//!
//! What is unpacked is compiled with the profile and the versions of this workspace, so that crates of others are not
//! compiled again. As a step of `cargo xtask test` the Python sources are only type-checked; the task itself also builds
//! a wheel from them and imports it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::python_tests;
use crate::need::{self, Need};
use crate::process::{self, Failure, Result};
use crate::summary::Tally;

/// The crates that are published, in the order in which they depend on each other, and their folders.
const CRATES: &[(&str, &str)] = &[
    ("pellucid-macros", "crates/pellucid-macros"),
    ("pellucid-numeric", "crates/pellucid-numeric"),
    ("pellucid-trace", "crates/pellucid-trace"),
    ("pellucid-viewer", "viewer"),
    ("pellucid", "crates/pellucid"),
    ("pellucid-cli", "crates/pellucid-cli"),
];
/// What every package must hold.
const EXPECTED: &[&str] = &["Cargo.toml", "LICENSE-APACHE", "LICENSE-MIT", "README.md"];
/// No file of a package is larger: what is, is a fixture that was forgotten.
const LARGEST_FILE: u64 = 2 << 20;

pub const NEEDS: &[Need] = &[Need::Python(&["maturin>=1.9,<2"])];

/// A program outside of this repository.
const PROGRAM: &str = r#"//! Uses the packaged library as any program would.
use pellucid::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("which file?")?;
    let x = array![[1.0, 2.0], [3.0, 4.0]];
    let (sum, summary) = pellucid::capture::scope(&path, || x.matmul(&x).relu().sum(..).item::<f32>())?;
    println!("the sum is {}, in {} launches", sum?, summary.launches);
    Ok(())
}
"#;

/// The step of `cargo xtask test`.
pub fn check() -> Result<Tally> {
    let folder = unpacked_crates()?;
    try_crates(&folder)?;
    let python = unpacked_sdist(&folder)?;
    let manifest = python.join("crates/pellucid-python/Cargo.toml");
    process::run(cargo_in(&python, &["check", "--manifest-path"]).arg(manifest))?;
    println!("packages are in {}", folder.display());
    Ok(Tally { passed: CRATES.len() as u64 + 3, failed: 0 })
}

/// The task: as [`check`], and a wheel made from the packed sources.
pub fn run() -> Result<()> {
    NEEDS.iter().try_for_each(|need| need.ensure())?;
    check()?;
    let folder = folder();
    let wheels = folder.join("wheel");
    let mut build =
        python(&["-m", "maturin", "build", "--profile", "dev", "--interpreter", "python", "--out"]);
    process::run(build.arg(&wheels).current_dir(sdist_folder(&folder)?).env("CARGO_TARGET_DIR", target()))?;
    let site = folder.join("site");
    let mut install = python(&["-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--find-links"]);
    process::run(install.arg(&wheels).arg("--target").arg(&site).arg("pellucid"))?;
    let mut import =
        python(&["-c", "import pellucid.core as mx; assert mx.sum(mx.array([1, 2, 3])).item() == 6"]);
    process::run(import.env("PYTHONPATH", &site).current_dir(&folder))?;
    Ok(())
}

/// Where cargo builds.
fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| process::root().join("target"), PathBuf::from)
}

/// Where packages are unpacked.
fn folder() -> PathBuf {
    target().join("packaged")
}

fn failed(what: &str, path: &Path, error: &std::io::Error) -> Failure {
    Failure::failed(format!("cannot {what} {}: {error}", path.display()))
}

/// Packs the crates and unpacks them side by side, each in a folder named after it.
fn unpacked_crates() -> Result<PathBuf> {
    let folder = folder();
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(|e| failed("empty", &folder, &e))?;
    }
    fs::create_dir_all(&folder).map_err(|e| failed("make", &folder, &e))?;
    let mut pack = process::cargo(&["package", "--no-verify", "--allow-dirty", "--quiet"]);
    for (name, _) in CRATES {
        pack.args(["-p", name]);
    }
    process::run(&mut pack)?;
    for (name, _) in CRATES {
        let stem = format!("{name}-{}", env!("CARGO_PKG_VERSION"));
        unpack(&target().join("package").join(format!("{stem}.crate")), &folder)?;
        let (long, short) = (folder.join(&stem), folder.join(name));
        fs::rename(&long, &short).map_err(|e| failed("rename", &long, &e))?;
        inspect(&short)?;
    }
    Ok(folder)
}

fn unpack(archive: &Path, into: &Path) -> Result<()> {
    let mut tar = Command::new("tar");
    tar.arg("-xzf").arg(archive).arg("-C").arg(into);
    process::run(&mut tar).map(drop)
}

/// A package holds what it must, and nothing that is only for tests.
fn inspect(package: &Path) -> Result<()> {
    if let Some(missing) = EXPECTED.iter().find(|name| !package.join(name).is_file()) {
        return Err(Failure::failed(format!("{} has no {missing}", package.display())));
    }
    for file in files(package).map_err(|e| failed("read", package, &e))? {
        let size = fs::metadata(&file).map_err(|e| failed("read", &file, &e))?.len();
        let inside = file.strip_prefix(package).unwrap_or(&file);
        if size > LARGEST_FILE || inside.starts_with("tests") {
            return Err(Failure::failed(format!(
                "{} ({size} bytes) does not belong in a package; exclude it in Cargo.toml",
                file.display()
            )));
        }
    }
    Ok(())
}

fn files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else {
            found.push(path);
        }
    }
    Ok(found)
}

/// Builds a program against the packaged library and runs it, installs the command, and shows the program's trace.
fn try_crates(folder: &Path) -> Result<()> {
    let write = |path: PathBuf, text: &str| fs::write(&path, text).map_err(|e| failed("write", &path, &e));
    let root = process::root();
    let manifest = root.join("Cargo.toml");
    let manifest = fs::read_to_string(&manifest).map_err(|e| failed("read", &manifest, &e))?;
    write(folder.join("Cargo.toml"), &workspace(&manifest))?;
    fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock")).map_err(|e| failed("copy", &root, &e))?;
    let outside = folder.join("outside");
    fs::create_dir_all(outside.join("src")).map_err(|e| failed("make", &outside, &e))?;
    write(outside.join("src/main.rs"), PROGRAM)?;
    let package = format!(
        "[package]\nname = \"outside\"\nedition = \"2024\"\n\n[dependencies]\npellucid = \"{}\"\n",
        env!("CARGO_PKG_VERSION")
    );
    write(outside.join("Cargo.toml"), &package)?;

    let trace = folder.join("outside.pltrace");
    process::run(cargo_in(folder, &["run", "--quiet", "-p", "outside", "--"]).arg(&trace))?;
    let installed = folder.join("installed");
    let install = &["install", "--quiet", "--debug", "--no-track", "--path", "pellucid-cli", "--root"];
    process::run(cargo_in(folder, install).arg(&installed))?;
    let command = installed.join("bin").join(format!("pellucid{}", std::env::consts::EXE_SUFFIX));
    process::run(Command::new(&command).arg("summary").arg(&trace))?;
    let page = folder.join("outside.html");
    process::run(Command::new(&command).args(["export", "--format", "html", "-o"]).arg(&page).arg(&trace))?;
    let text = fs::read_to_string(&page).map_err(|e| failed("read", &page, &e))?;
    if !text.contains("data-name=\"outside.pltrace\"") {
        return Err(Failure::failed(format!("{} does not hold the trace", page.display())));
    }
    Ok(())
}

/// The manifest of a workspace of what was unpacked, in which names of published crates mean the unpacked ones.
fn workspace(manifest: &str) -> String {
    let members: Vec<String> = CRATES.iter().map(|(name, _)| format!("\"{name}\"")).collect();
    let patches: String =
        CRATES.iter().map(|(name, _)| format!("{name} = {{ path = \"{name}\" }}\n")).collect();
    let profiles = manifest.find("[profile.").map_or("", |at| &manifest[at..]);
    format!(
        "[workspace]\nresolver = \"3\"\nmembers = [{}, \"outside\"]\n\n[patch.crates-io]\n{patches}\n{profiles}",
        members.join(", ")
    )
}

/// Cargo in another folder, which builds where it builds here.
fn cargo_in(folder: &Path, args: &[&str]) -> Command {
    let mut cargo = process::cargo(args);
    cargo.current_dir(folder).env("CARGO_TARGET_DIR", target());
    cargo
}

/// Packs the Python package's sources and unpacks them.
fn unpacked_sdist(folder: &Path) -> Result<PathBuf> {
    let archives = folder.join("sdist");
    let mut pack = python(&["-m", "maturin", "sdist", "--manifest-path", python_tests::MANIFEST, "--out"]);
    process::run(pack.arg(&archives))?;
    let name = format!("pellucid-{}.tar.gz", env!("CARGO_PKG_VERSION"));
    unpack(&archives.join(name), &archives)?;
    sdist_folder(folder)
}

fn sdist_folder(folder: &Path) -> Result<PathBuf> {
    let inside = folder.join("sdist").join(format!("pellucid-{}", env!("CARGO_PKG_VERSION")));
    inside.canonicalize().map_err(|e| failed("find", &inside, &e))
}

fn python(args: &[&str]) -> Command {
    let mut python = Command::new("python");
    python.args(args).current_dir(process::root());
    if let Some(path) = need::search_path(NEEDS) {
        python.env("PATH", path);
    }
    python
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workspace_of_what_was_unpacked_has_all_crates_and_the_profiles() {
        let text = workspace("[workspace]\nmembers = []\n\n[profile.dev]\nopt-level = 1\n");
        assert!(text.contains("members = [\"pellucid-macros\", "), "{text}");
        assert!(text.contains("\npellucid-trace = { path = \"pellucid-trace\" }\n"), "{text}");
        assert!(text.ends_with("[profile.dev]\nopt-level = 1\n"), "{text}");
        assert!(!text.contains("members = []"), "{text}");
    }

    #[test]
    fn every_crate_has_the_projects_licences_and_a_page_of_its_own() {
        let python = ("pellucid-python", "crates/pellucid-python");
        for (name, folder) in CRATES.iter().chain([&python]) {
            let folder = process::root().join(folder);
            for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
                let ours = fs::read(process::root().join(licence)).unwrap();
                assert_eq!(fs::read(folder.join(licence)).unwrap(), ours, "{licence} of {name}");
            }
            assert!(fs::read_to_string(folder.join("README.md")).unwrap().starts_with("# "), "{name}");
        }
    }

    #[test]
    fn what_is_published_says_what_it_is() {
        for (name, folder) in CRATES {
            let manifest = fs::read_to_string(process::root().join(folder).join("Cargo.toml")).unwrap();
            for field in ["description", "readme", "keywords", "categories", "license", "rust-version"] {
                assert!(manifest.contains(&format!("\n{field}")), "{name} has no {field}");
            }
            // Nothing outside of the folder is packed with it.
            for file in files(&process::root().join(folder).join("src")).unwrap_or_default() {
                let text = fs::read_to_string(&file).unwrap_or_default();
                assert!(!text.contains("include_str!(\"../../../"), "{}", file.display());
            }
        }
    }
}
