//! Writes a small trace of a made-up network: `cargo run -p pellucid-trace --example write_sample -- FILE [LAYERS]`.

mod synthetic;

use pellucid_trace::{Mode, Options, Writer};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: write_sample FILE [LAYERS]")?;
    let layers = arguments.next().map_or(Ok(10), |text| text.parse())?;
    let writer = Writer::create(&path, Options { mode: Mode::Full, ..Options::default() })?;
    let manifest = synthetic::Network::new(&writer).run(layers);
    let summary = writer.finish(manifest)?;
    println!("{}", serde_json::to_string(&summary.written)?);
    Ok(())
}
