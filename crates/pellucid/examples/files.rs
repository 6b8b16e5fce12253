//! Shows what a `.npy`, `.npz` or `.safetensors` file holds, or converts one into another.
//!
//! `cargo run --example files -- show IN` and `cargo run --example files -- convert IN OUT`

use std::collections::BTreeMap;
use std::process::ExitCode;

use pellucid::io::{self, Loaded};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments[..] {
        ["show", input] => show(input),
        ["convert", input, output] => convert(input, output),
        _ => {
            eprintln!("usage: files show IN | files convert IN OUT");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn show(input: &str) -> pellucid::Result<()> {
    match io::load(input)? {
        Loaded::Array(array) => println!("{array}"),
        other => {
            for (name, array) in other.into_arrays()? {
                println!("{name} = {array}");
            }
        }
    }
    Ok(())
}

fn convert(input: &str, output: &str) -> pellucid::Result<()> {
    let (arrays, metadata) = match io::load(input)? {
        Loaded::Array(array) if output.ends_with(".npy") => return io::save(output, &array).map(drop),
        Loaded::Array(array) => (BTreeMap::from([("array".to_owned(), array)]), BTreeMap::new()),
        Loaded::Arrays { arrays, metadata } => (arrays, metadata),
        other => (other.into_arrays()?, BTreeMap::new()),
    };
    if output.ends_with(".safetensors") {
        io::save_safetensors(output, &arrays, &metadata)?;
    } else {
        io::save_npz(output, &arrays, true)?;
    }
    Ok(())
}
