//! What the documents say of the code, checked against the code: which modules call which, and that paths exist.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Which other modules of the library the code of a module may name, as `ARCHITECTURE.md` lists them. A module that is
/// not listed may name any.
const MAY_NAME: &[(&str, &[&str])] = &[
    ("op", &["array", "error"]),
    ("memory", &["call_site", "device", "error", "observe", "variable"]),
    ("backend/cpu", &["array", "device", "error", "gpu", "memory", "op", "variable"]),
    ("ops", &["array", "device", "error", "eval", "op", "stream", "transform"]),
];

/// Source files below a folder, without tests.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "tests" {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|e| e == "rs") && !name.ends_with("tests") {
            found.push(path);
        }
    }
    found
}

/// The modules that a file names as `crate::module`, outside comments and tests.
fn named(text: &str) -> BTreeSet<String> {
    let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let module = |rest: &str| {
        let word: String = rest.chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect();
        rest[word.len()..].starts_with("::").then_some(word)
    };
    lines.flat_map(|line| line.split("crate::").skip(1).filter_map(module).collect::<Vec<_>>()).collect()
}

#[test]
fn each_module_names_only_those_that_the_architecture_allows() {
    let source = root().join("crates/pellucid/src");
    let mut wrong: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (module, allowed) in MAY_NAME {
        let top = module.split('/').next().unwrap();
        for file in sources(&source.join(module)) {
            let names = named(&fs::read_to_string(&file).unwrap());
            let bad = names.into_iter().filter(|n| n != top && !allowed.contains(&n.as_str()));
            let shown = file.strip_prefix(&source).unwrap().display().to_string();
            for name in bad {
                wrong.entry(shown.clone()).or_default().insert(name);
            }
        }
    }
    assert!(wrong.is_empty(), "files that name a module which theirs may not: {wrong:#?}");
}

#[test]
fn the_architecture_lists_what_each_module_may_name() {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    for (module, allowed) in MAY_NAME {
        let row = format!(
            "| `{module}/` | {} |",
            allowed.iter().map(|m| format!("`{m}`")).collect::<Vec<_>>().join(", ")
        );
        assert!(page.contains(&row), "ARCHITECTURE.md lacks the row\n{row}");
    }
}

/// What stands between single backquotes and looks like a path below the library's folder or the repository's.
fn paths(text: &str) -> Vec<String> {
    let pieces = text.split('`').skip(1).step_by(2);
    pieces.filter(|p| p.contains('/') && !p.contains(' ') && !p.contains("::")).map(str::to_owned).collect()
}

#[test]
fn every_path_of_the_page_on_adding_an_operation_exists() {
    let page = fs::read_to_string(root().join("docs/adding-an-operation.md")).unwrap();
    let found = paths(&page);
    assert!(found.len() > 8, "{found:?}");
    for path in found {
        // `<family>` stands for a file that the reader chooses: its folder must be there.
        let fixed = path.split('<').next().unwrap_or_default();
        let at = [root().join("crates/pellucid").join(fixed), root().join(fixed)];
        assert!(at.iter().any(|p| p.exists()), "{path} does not exist");
    }
}

/// The programs of the page for newcomers: for each, the code in every library, by its name. Lines that rustdoc hides do
/// not count.
fn programs(page: &str) -> Vec<(String, BTreeMap<String, String>)> {
    let sections =
        page.split("\n## ").skip(1).filter(|section| section.starts_with(|c: char| c.is_ascii_digit()));
    let program = |section: &str| {
        let title = section.lines().next().unwrap().to_owned();
        let pieces: Vec<&str> = section.split("```").collect();
        let code = pieces.chunks_exact(2).map(|pair| {
            let name = pair[0].trim_end().lines().last().unwrap().trim_end_matches(':').to_owned();
            let shown = pair[1].lines().skip(1).filter(|line| !line.starts_with("# "));
            (name, shown.map(|line| format!("{}\n", line.trim())).collect())
        });
        (title, code.collect())
    };
    sections.map(program).collect()
}

#[test]
fn our_programs_for_newcomers_are_the_shortest_in_rust() {
    let page = fs::read_to_string(root().join("docs/rust-for-newcomers.md")).unwrap();
    let programs = programs(&page);
    assert_eq!(programs.len(), 10);
    for (title, code) in programs {
        let count =
            |name: &str| code.get(name).unwrap_or_else(|| panic!("{title}: no {name}")).chars().count();
        let ours = count("Pellucid");
        for peer in ["candle", "burn", "mlx-rs"] {
            assert!(ours < count(peer), "{title}: {ours} characters, {peer} {}", count(peer));
        }
        let (burn, python) = (count("burn"), count("MLX"));
        let row =
            format!("| {title} | {ours} | {} | {burn} | {} | {python} |", count("candle"), count("mlx-rs"));
        assert!(page.contains(&row), "the table lacks the row\n{row}");
    }
}

#[test]
fn every_function_of_ops_has_an_example() {
    let mut without = Vec::new();
    for file in sources(&root().join("crates/pellucid/src/ops")) {
        let text = fs::read_to_string(&file).unwrap();
        // Functions of tables have their examples in the macro that makes them.
        let lines: Vec<&str> = text.lines().collect();
        let functions = lines.iter().enumerate().filter(|(_, line)| line.starts_with("pub fn "));
        for (at, line) in functions {
            let above = lines[..at].iter().rev();
            let mut above = above.take_while(|line| line.starts_with("///") || line.starts_with("#["));
            if !above.any(|line| line.starts_with("/// ```")) {
                without.push(format!("{}: {line}", file.file_name().unwrap().display()));
            }
        }
    }
    assert!(without.is_empty(), "functions without an example: {without:#?}");
}
