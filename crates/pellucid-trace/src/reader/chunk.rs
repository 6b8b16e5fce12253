//! One chunk of a table: an Arrow stream whose every promise is checked.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_buffer::Buffer;
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::{Message, MessageHeader, root_as_message};
use arrow_schema::{DataType, Field, Schema};

use super::Table;
use super::array::Parts;
use crate::schema::{Row, RowColumns};

/// Adds the rows of `data` to `table`; says what is wrong otherwise.
pub(super) fn decode<R: Row>(data: Vec<u8>, table: &mut Table<R>) -> Result<(), String> {
    check_messages::<R>(&data)?;
    // What arrow makes of the rest is checked by it. It is not ours, though: a defect in it must not end the program.
    let batches = catch_unwind(AssertUnwindSafe(|| decode_batches::<R>(data)));
    let batches = batches.unwrap_or_else(|_| Err("the Arrow stream is malformed".into()))?;
    batches.into_iter().for_each(|batch| table.add(batch));
    Ok(())
}

/// The batches of a stream whose messages were checked.
fn decode_batches<R: Row>(data: Vec<u8>) -> Result<Vec<R::Columns>, String> {
    let data = Buffer::from_vec(data);
    let mut schema = None;
    let mut batches = Vec::new();
    let mut at = 0;
    while let Some(head) = head(&data, at)? {
        let message = root_as_message(head).map_err(|error| brief(&error.to_string()))?;
        let (start, length) = (at + 8 + head.len(), message.bodyLength() as usize);
        if let Some(found) = message.header_as_schema() {
            schema = Some(Arc::new(try_fb_to_schema(found).map_err(|error| error.to_string())?));
        } else if let (Some(schema), Some(batch)) = (&schema, message.header_as_record_batch()) {
            let (nodes, buffers) = batch.nodes().zip(batch.buffers()).ok_or("a batch has no columns")?;
            let mut parts = Parts {
                body: data.slice_with_length(start, length),
                nodes: nodes.iter(),
                buffers: buffers.iter(),
            };
            let columns = schema.fields().iter().map(|field| parts.array(field));
            let columns = columns.collect::<Result<Vec<_>, _>>()?;
            let rows = RecordBatchOptions::new().with_row_count(Some(batch.length() as usize));
            let batch = RecordBatch::try_new_with_options(schema.clone(), columns, &rows);
            batches.push(R::Columns::open(&batch.map_err(|error| error.to_string())?)?);
        }
        at = start + length;
    }
    Ok(batches)
}

/// The metadata of the message that begins at a place, or nothing at the end of the stream.
fn head(data: &[u8], at: usize) -> Result<Option<&[u8]>, String> {
    let word = |at: usize| {
        let bytes = data.get(at..at + 4).ok_or("the stream is cut short")?;
        Ok::<_, String>(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    };
    if word(at)? != u32::MAX {
        return Err("not an Arrow stream".into());
    }
    let size = word(at + 4)? as usize;
    if size == 0 {
        let ends = at + 8 == data.len();
        return if ends { Ok(None) } else { Err("the stream goes on after its end".into()) };
    }
    let head = data.get(at + 8..).and_then(|rest| rest.get(..size)).ok_or("the stream is cut short")?;
    Ok(Some(head))
}

/// Walks over the messages: the table's schema, then batches of its columns whose buffers lie within their bodies.
fn check_messages<R: Row>(data: &[u8]) -> Result<(), String> {
    let mut at = 0;
    let mut columns = Columns::default();
    while let Some(head) = head(data, at)? {
        let message = root_as_message(head).map_err(|error| brief(&error.to_string()))?;
        let body = usize::try_from(message.bodyLength()).map_err(|_| "a body has a negative length")?;
        let rest = &data[at + 8 + head.len()..];
        if body > rest.len() {
            return Err(format!("a body of {body} bytes does not fit the {} that are left", rest.len()));
        }
        if at == 0 {
            columns = check_schema::<R>(&message, body)?;
        } else {
            check_batch(&message, body, &columns)?;
        }
        at += 8 + head.len() + body;
    }
    Ok(())
}

/// What each batch has to have: so many nodes, and buffers of elements of these sizes.
#[derive(Default)]
struct Columns {
    nodes: usize,
    buffers: Vec<i64>,
}

impl Columns {
    /// Adds a column of one of our types.
    fn add(&mut self, field: &Field) {
        self.nodes += 1;
        // One bit for each row says whether the value is there.
        self.buffers.push(1);
        match field.data_type() {
            DataType::List(item) => {
                self.buffers.push(4);
                self.add(item);
            }
            DataType::Utf8 => self.buffers.extend([4, 1]),
            other => self.buffers.push(other.primitive_width().unwrap_or(1) as i64),
        }
    }
}

fn check_schema<R: Row>(message: &Message, body: usize) -> Result<Columns, String> {
    let schema = message.header_as_schema().filter(|_| body == 0).ok_or("the stream has no schema")?;
    let schema = try_fb_to_schema(schema).map_err(|error| error.to_string())?;
    // Files of an older version end before the columns that came later.
    let (wanted, found) = (R::schema(), schema.fields());
    let known = (R::FIRST_COLUMNS..=wanted.fields().len()).contains(&found.len());
    if !known || found.iter().ne(wanted.fields().iter().take(found.len())) {
        return Err(foreign::<R>(&schema));
    }
    let mut columns = Columns::default();
    schema.fields().iter().for_each(|field| columns.add(field));
    Ok(columns)
}

/// Which column is the first that the table does not have.
fn foreign<R: Row>(schema: &Schema) -> String {
    let wanted = R::schema();
    let column = |field: &Field| {
        let null = if field.is_nullable() { ", may be null" } else { "" };
        format!("`{}` ({}{null})", brief(field.name()), brief(&field.data_type().to_string()))
    };
    let place = wanted.fields().iter().zip(schema.fields()).position(|(wanted, found)| wanted != found);
    let place = place.unwrap_or(schema.fields().len().min(wanted.fields().len()));
    let is = schema.fields().get(place).map_or("missing".to_owned(), |field| column(field));
    let should =
        wanted.fields().get(place).map_or("the last one before it".to_owned(), |field| column(field));
    format!("its columns are not those of {}: number {} is {is} instead of {should}", R::TABLE, place + 1)
}

fn check_batch(message: &Message, body: usize, columns: &Columns) -> Result<(), String> {
    if message.header_type() != MessageHeader::RecordBatch {
        return Err("a message is neither a schema nor a batch".into());
    }
    let batch = message.header_as_record_batch().ok_or("a batch is malformed")?;
    let (nodes, buffers) = batch.nodes().zip(batch.buffers()).ok_or("a batch has no columns")?;
    if batch.compression().is_some() {
        return Err("a batch is compressed".into());
    }
    if nodes.len() != columns.nodes || buffers.len() != columns.buffers.len() {
        return Err(format!("a batch has {} nodes and {} buffers", nodes.len(), buffers.len()));
    }
    // A bit for each row is the least that a column takes.
    let most = body.saturating_mul(8) as i64;
    let count = |length: i64| (0..=most).contains(&length);
    let sound = |node: &arrow_ipc::FieldNode| {
        count(node.length()) && (0..=node.length()).contains(&node.null_count())
    };
    if !count(batch.length()) || !nodes.iter().all(sound) {
        return Err("a batch counts rows that cannot be".into());
    }
    let sound = |(buffer, width): (&arrow_ipc::Buffer, &i64)| {
        let (offset, length) = (buffer.offset(), buffer.length());
        let inside =
            offset >= 0 && length >= 0 && offset.checked_add(length).is_some_and(|end| end <= body as i64);
        inside && offset % 8 == 0 && length % width == 0
    };
    if buffers.iter().zip(&columns.buffers).all(sound) {
        Ok(())
    } else {
        Err("a buffer lies outside its batch or between its elements".into())
    }
}

fn brief(text: &str) -> String {
    text.chars().take(120).collect()
}

#[cfg(test)]
mod tests {
    use arrow_ipc::writer::StreamWriter;

    use super::*;
    use crate::schema::{Op, RowBuilder};

    fn stream(batch: &RecordBatch, columns: usize) -> Vec<u8> {
        let batch = batch.project(&(0..columns).collect::<Vec<_>>()).unwrap();
        let mut bytes = Vec::new();
        let mut writer = StreamWriter::try_new(&mut bytes, &batch.schema()).unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
        bytes
    }

    fn batch() -> RecordBatch {
        let mut builder = <Op as Row>::Builder::default();
        builder.push(&Op {
            id: 7,
            name: "sum".into(),
            op: r#"{"reduce":{}}"#.into(),
            inputs: vec![1],
            outputs: vec![7],
            shapes: vec![vec![]],
            dtypes: vec!["float32".into()],
            device: "Device(cpu, 0)".into(),
            stream: 0,
            launch: None,
            call_site: "a.rs:1".into(),
            label: None,
            region: None,
            flops: 0,
            bytes: 0,
            fallback: false,
            error: None,
            buffer: Some(3),
            family: Some("written".into()),
            fallback_reason: None,
        });
        builder.finish().unwrap()
    }

    #[test]
    fn rows_of_version_1_have_no_family_and_are_known_by_their_operation() {
        let mut table = Table::<Op>::default();
        decode(stream(&batch(), Op::FIRST_COLUMNS), &mut table).unwrap();
        decode(stream(&batch(), Op::schema().fields().len()), &mut table).unwrap();
        let kinds: Vec<_> = table.iter().map(|op| (op.family, op.kind(), op.buffer)).collect();
        assert_eq!(kinds, [(None, "reduction", Some(3)), (Some("written"), "written", Some(3))]);
    }

    #[test]
    fn a_table_with_fewer_columns_than_version_1_is_refused() {
        let error = decode(stream(&batch(), Op::FIRST_COLUMNS - 1), &mut Table::<Op>::default()).unwrap_err();
        assert!(error.contains("its columns are not those of ops"), "{error}");
    }
}
