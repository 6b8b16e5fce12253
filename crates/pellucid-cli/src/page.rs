//! The viewer, and a page that holds the viewer and a trace.

use std::io::{self, Write};
use std::path::Path;

use base64::engine::general_purpose::STANDARD;
use base64::write::EncoderWriter;

pub use pellucid_viewer::PAGE as VIEWER;
use pellucid_viewer::PLACE;

/// Writes the viewer with the trace of `path` inside: one file that opens in any browser.
///
/// # Errors
/// If the trace cannot be read or the page not be written.
pub fn write(path: &Path, out: &mut impl Write) -> io::Result<()> {
    let (head, tail) = VIEWER.split_once(PLACE).unwrap_or((VIEWER, ""));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut out = io::BufWriter::new(out);
    out.write_all(head.as_bytes())?;
    write!(out, "<script type=\"application/octet-stream\" id=\"trace\" data-name=\"{}\">", escaped(&name))?;
    let mut text = EncoderWriter::new(&mut out, &STANDARD);
    io::copy(&mut std::fs::File::open(path)?, &mut text)?;
    text.finish()?;
    drop(text);
    out.write_all(b"</script>")?;
    out.write_all(tail.as_bytes())?;
    out.flush()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_viewer_has_one_place_for_a_trace() {
        assert_eq!(VIEWER.matches(PLACE).count(), 1);
    }
}
