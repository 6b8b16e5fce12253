//! One chunk of a table: an Arrow stream whose every promise is checked.

use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;

use super::Table;
use crate::schema::{Row, RowColumns};

/// Adds the rows of `data` to `table`; says what is wrong otherwise.
pub(super) fn decode<R: Row>(data: Vec<u8>, table: &mut Table<R>) -> Result<(), String> {
    // The decoder validates what it reads. It is not ours, though: a defect in it must not end the program.
    let batches = catch_unwind(AssertUnwindSafe(|| decode_batches::<R>(data)));
    let batches = batches.unwrap_or_else(|_| Err("the Arrow stream is malformed".into()))?;
    batches.into_iter().for_each(|batch| table.add(batch));
    Ok(())
}

fn decode_batches<R: Row>(data: Vec<u8>) -> Result<Vec<R::Columns>, String> {
    let mut rest = Buffer::from_vec(data);
    let mut decoder = StreamDecoder::new();
    // The schema comes first and alone, so that no batch of other columns is ever built. One byte more than the
    // message makes the decoder finish it.
    let schema_end = schema_end(&rest)?;
    let mut head = rest.slice_with_length(0, schema_end + 1);
    rest.advance(schema_end + 1);
    let early = decoder.decode(&mut head).map_err(|error| error.to_string())?;
    let schema = decoder.schema().filter(|_| early.is_none()).ok_or("the stream has no schema")?;
    if schema.fields() != R::schema().fields() {
        return Err(format!("its columns are not those of {}: {}", R::TABLE, brief(&schema.to_string())));
    }
    let mut batches = Vec::new();
    while !rest.is_empty() {
        if let Some(batch) = decoder.decode(&mut rest).map_err(|error| error.to_string())? {
            batches.push(R::Columns::open(&batch)?);
        }
    }
    decoder.finish().map_err(|error| error.to_string())?;
    Ok(batches)
}

/// Where the first message ends, if the buffer goes on after it.
fn schema_end(data: &[u8]) -> Result<usize, String> {
    let word = |at: usize| {
        let bytes = data.get(at..at + 4).ok_or("the stream is cut short")?;
        Ok::<_, String>(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    };
    if word(0)? != u32::MAX {
        return Err("not an Arrow stream".into());
    }
    let end = 8 + word(4)? as usize;
    if end < data.len() { Ok(end) } else { Err("the stream is cut short".into()) }
}

fn brief(text: &str) -> String {
    text.chars().take(300).collect()
}
