//! Runs the cases of the benchmark on one peer: `bench-peers candle`, `burn-flex` or `burn-wgpu`.

#[cfg(feature = "burn")]
mod burn;
#[cfg(feature = "candle")]
mod candle;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use bench_protocol::{Case, Work};

type Build = fn(&Case) -> Result<Option<Work>, String>;

fn main() -> ExitCode {
    let peer = std::env::args().nth(1).unwrap_or_default();
    let (version, build): (&str, Build) = match peer.as_str() {
        #[cfg(feature = "candle")]
        "candle" => ("0.11", candle::build),
        #[cfg(feature = "burn")]
        "burn-flex" => ("0.22", burn::build_flex),
        #[cfg(feature = "burn")]
        "burn-wgpu" => ("0.22", burn::build_wgpu),
        _ => {
            eprintln!("error: usage: bench-peers candle|burn-flex|burn-wgpu, as far as they are compiled in");
            return ExitCode::FAILURE;
        }
    };
    // Burn panics where it cannot do something; that ends the case, not the runner.
    std::panic::set_hook(Box::new(|_| {}));
    let served = bench_protocol::serve(version, |case| {
        let work = guarded(|| build(case))??;
        Ok(work.map(|mut work| Box::new(move || guarded(&mut work)?) as Work))
    });
    if served.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn guarded<T>(f: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(f)).map_err(|panic| match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => panic.downcast::<&str>().map_or("panic".to_owned(), |text| (*text).to_owned()),
    })
}
