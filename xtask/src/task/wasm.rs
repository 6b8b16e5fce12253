//! `cargo xtask wasm`: compiles the analysis of `pellucid-trace` to WebAssembly for the viewer.
//!
//! The module is committed, so that building the viewer needs no Rust and building Pellucid no second target. Beside it
//! stands a hash of the sources it was compiled from: whether it is current can be told without compiling it again.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use flate2::{Compression, GzBuilder};

use crate::need::{Need, Probe, STD_SOURCE};
use crate::process::{self, Failure, Result};
use crate::summary::Tally;

const TARGET: &str = "wasm32-unknown-unknown";
const PACKAGE: &str = "pellucid-trace-wasm";
const LINKER: Need = Need::System(&["lld"], Probe::Program("wasm-ld"));
const OPTIMISER: Need = Need::System(&["binaryen"], Probe::Program("wasm-opt"));
/// A page has no use for the text and the place of a panic, nor for the `Debug` of foreign types.
const FLAGS: &str = "-Zunstable-options -Cpanic=immediate-abort -Zlocation-detail=none -Zfmt-debug=none";
/// What the page calls; see `boundary.rs` of the crate.
const EXPORTS: &[&str] = &["memory", "open", "analyse", "marks", "diff", "answer", "answer_length"];
/// What the compiler's output uses beyond the first version of WebAssembly; every browser of the last years has them.
const FEATURES: &[&str] = &[
    "--enable-bulk-memory",
    "--enable-sign-ext",
    "--enable-nontrapping-float-to-int",
    "--enable-mutable-globals",
    "--enable-reference-types",
    "--enable-multivalue",
];
/// What the module is made from. Writing, repairing and exporting are not called by the page.
const SOURCES: &[&str] = &["crates/pellucid-trace/src", "crates/pellucid-trace-wasm/src"];
const NOT_CALLED: &[&str] = &["writer", "export", "recover.rs", "archive.rs"];

fn folder() -> PathBuf {
    process::root().join("viewer").join("wasm")
}

/// Compiles the module and writes it and its stamp.
pub fn run() -> Result<()> {
    [STD_SOURCE, LINKER, OPTIMISER].into_iter().try_for_each(Need::ensure)?;
    // Of what is here now: somebody may go on editing while it compiles.
    let stamp = stamp()?;
    let built = process::root().join("target").join("wasm");
    let mut cargo = process::cargo(&["build", "--profile", "wasm", "--package", PACKAGE, "--target", TARGET]);
    cargo.arg("--target-dir").arg(&built);
    cargo.args(["-Z", "build-std=std,panic_abort", "-Z", "build-std-features=optimize_for_size"]);
    // Debian's compiler comes with the source of the standard library, which is compiled along.
    cargo.env("RUSTC", "/usr/bin/rustc").env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", FLAGS);
    cargo.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", "wasm-ld");
    // A hash table of a dependency is seeded at compile time.
    cargo.env("CONST_RANDOM_SEED", "pellucid");
    process::run(&mut cargo)?;
    let module = built.join(TARGET).join("wasm").join("pellucid_trace_wasm.wasm");
    let packed = pack(&read(&shrink(&built, &module)?)?)?;
    fs::create_dir_all(folder()).map_err(|e| cannot("make", &folder(), &e))?;
    for (name, content) in
        [("analysis.wasm.gz", packed.as_slice()), ("sources.txt", format!("{stamp}\n").as_bytes())]
    {
        let path = folder().join(name);
        fs::write(&path, content).map_err(|e| cannot("write", &path, &e))?;
    }
    println!("viewer/wasm/analysis.wasm.gz has {} bytes; now run `cargo xtask viewer`", packed.len());
    Ok(())
}

/// Drops what the page does not call (a dependency exports functions for another tool), then optimises for size.
fn shrink(built: &Path, module: &Path) -> Result<PathBuf> {
    let (graph, reached, small) =
        (built.join("exports.json"), built.join("reached.wasm"), built.join("analysis.wasm"));
    let names = EXPORTS.iter().map(|name| format!("{{\"name\":\"{name}\",\"export\":\"{name}\"}}"));
    let roots = EXPORTS.iter().map(|name| format!("\"{name}\""));
    let text = format!(
        "[{{\"name\":\"page\",\"root\":true,\"reaches\":[{}]}},{}]",
        roots.collect::<Vec<_>>().join(","),
        names.collect::<Vec<_>>().join(",")
    );
    fs::write(&graph, text).map_err(|e| cannot("write", &graph, &e))?;
    let mut reach = Command::new("wasm-metadce");
    reach.args(FEATURES).arg("--graph-file").arg(&graph).arg(module).arg("-o").arg(&reached);
    process::run(&mut reach)?;
    let mut optimise = Command::new("wasm-opt");
    optimise.args(["-Oz", "--strip-debug", "--strip-producers"]).args(FEATURES);
    process::run(optimise.arg(&reached).arg("-o").arg(&small))?;
    Ok(small)
}

/// Fails if the module was compiled from other sources than those that are here.
pub fn check() -> Result<Tally> {
    let path = folder().join("sources.txt");
    let found = String::from_utf8_lossy(&read(&path)?).trim().to_owned();
    if found == stamp()? {
        return Ok(Tally::PASS);
    }
    Err(Failure::failed("viewer/wasm/analysis.wasm.gz is older than the analysis; run `cargo xtask wasm`"))
}

/// The same bytes for the same module: no name, no time.
fn pack(module: &[u8]) -> Result<Vec<u8>> {
    let mut packed = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    packed.write_all(module).map_err(|e| Failure::failed(format!("cannot pack the module: {e}")))?;
    packed.finish().map_err(|e| Failure::failed(format!("cannot pack the module: {e}")))
}

/// A hash of all sources, with their names.
fn stamp() -> Result<String> {
    let mut files = Vec::new();
    for folder in SOURCES {
        list(&process::root().join(folder), &mut files)?;
    }
    files.sort();
    let mut all = Vec::new();
    for file in files {
        let name = file.strip_prefix(process::root()).unwrap_or(&file).to_string_lossy().replace('\\', "/");
        all.extend_from_slice(name.as_bytes());
        all.extend_from_slice(&read(&file)?);
    }
    Ok(format!("{:016x}", xxhash_rust::xxh3::xxh3_64(&all)))
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).map_err(|e| cannot("read", folder, &e))?.flatten() {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if NOT_CALLED.contains(&name.as_str()) {
            continue;
        }
        if path.is_dir() {
            list(&path, files)?;
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|e| cannot("read", path, &e))
}

fn cannot(what: &str, path: &Path, error: &std::io::Error) -> Failure {
    Failure::failed(format!("cannot {what} {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_module_is_packed_to_the_same_bytes() {
        let module = [7; 1000];
        assert_eq!(pack(&module).unwrap(), pack(&module).unwrap());
    }

    #[test]
    fn the_stamp_covers_the_analysis_and_not_the_writer() {
        let mut files = Vec::new();
        list(&process::root().join(SOURCES[0]), &mut files).unwrap();
        let has =
            |part: &str| files.iter().any(|file| file.to_string_lossy().replace('\\', "/").contains(part));
        assert!(has("analysis/finite.rs") && has("reader/mod.rs"));
        assert!(!has("writer/") && !has("recover.rs"));
    }
}
