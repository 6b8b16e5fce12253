//! `cargo xtask bench`: Pellucid beside its peers, in one run on one machine. The benchmarks are a crate of their own
//! in `bench/`, outside the workspace, because the peers are large.

use crate::need::{self, Need};
use crate::process::{self, Failure, Result};

/// The peers that are Python packages.
const PEERS: &[Need] = &[Need::Python(&["numpy"])];

fn exists() -> bool {
    process::root().join("bench").join("Cargo.toml").is_file()
}

/// What the benchmarks need; nothing as long as there are none.
pub fn needs() -> &'static [Need] {
    if exists() { PEERS } else { &[] }
}

pub fn run() -> Result<()> {
    if !exists() {
        return Err(Failure::Missing(
            "there are no benchmarks yet: bench/Cargo.toml does not exist".to_owned(),
        ));
    }
    PEERS.iter().try_for_each(|need| need.ensure())?;
    let mut command = process::cargo(&["run", "--release", "--manifest-path", "bench/Cargo.toml"]);
    if let Some(path) = need::search_path(PEERS) {
        command.env("PATH", path);
    }
    process::run(&mut command).map(drop)
}
