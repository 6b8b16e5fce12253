//! The arrays of a batch whose messages were checked. Only the handful of types that tables have are known, which keeps
//! the reader small enough for a page of a browser and lets nothing in that tables do not use.

use std::sync::Arc;

use arrow_array::types::{ArrowPrimitiveType, Float64Type, Int32Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{ArrayRef, BooleanArray, ListArray, PrimitiveArray, StringArray};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_ipc::FieldNode;
use arrow_schema::{DataType, FieldRef};

/// The nodes and buffers of a batch that are still to be read.
pub(super) struct Parts<N, B> {
    pub body: Buffer,
    pub nodes: N,
    pub buffers: B,
}

impl<'a, N, B> Parts<N, B>
where
    N: Iterator<Item = &'a FieldNode>,
    B: Iterator<Item = &'a arrow_ipc::Buffer>,
{
    /// The next column.
    pub(super) fn array(&mut self, field: &FieldRef) -> Result<ArrayRef, String> {
        let node = self.nodes.next().ok_or("a column is missing")?;
        let len = usize::try_from(node.length()).map_err(|_| "a column has a negative length")?;
        let bits = self.buffer()?;
        let nulls = if node.null_count() == 0 { None } else { Some(NullBuffer::new(flags(bits, len)?)) };
        Ok(match field.data_type() {
            DataType::UInt64 => self.numbers::<UInt64Type>(len, nulls)?,
            DataType::Int64 => self.numbers::<Int64Type>(len, nulls)?,
            DataType::UInt32 => self.numbers::<UInt32Type>(len, nulls)?,
            DataType::Int32 => self.numbers::<Int32Type>(len, nulls)?,
            DataType::Float64 => self.numbers::<Float64Type>(len, nulls)?,
            DataType::Boolean => Arc::new(BooleanArray::new(flags(self.buffer()?, len)?, nulls)),
            DataType::Utf8 => {
                let offsets = self.offsets(len)?;
                let text = StringArray::try_new(offsets, self.buffer()?, nulls);
                Arc::new(text.map_err(|error| error.to_string())?)
            }
            DataType::List(item) => {
                let offsets = self.offsets(len)?;
                let values = self.array(item)?;
                let list = ListArray::try_new(item.clone(), offsets, values, nulls);
                Arc::new(list.map_err(|error| error.to_string())?)
            }
            other => return Err(format!("no table has columns of type {other}")),
        })
    }

    fn buffer(&mut self) -> Result<Buffer, String> {
        let buffer = self.buffers.next().ok_or("a buffer is missing")?;
        let range = || {
            let (from, length) =
                (usize::try_from(buffer.offset()).ok()?, usize::try_from(buffer.length()).ok()?);
            from.checked_add(length).filter(|end| *end <= self.body.len()).map(|_| (from, length))
        };
        let (from, length) = range().ok_or("a buffer lies outside its batch")?;
        Ok(self.body.slice_with_length(from, length))
    }

    fn numbers<T: ArrowPrimitiveType>(
        &mut self,
        len: usize,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef, String> {
        let values = scalars::<T::Native>(self.buffer()?, len)?;
        let numbers = PrimitiveArray::<T>::try_new(values, nulls);
        Ok(Arc::new(numbers.map_err(|error| error.to_string())?))
    }

    /// Where each row begins in the values; one more than rows.
    fn offsets(&mut self, len: usize) -> Result<OffsetBuffer<i32>, String> {
        let buffer = self.buffer()?;
        if len == 0 && buffer.is_empty() {
            return Ok(OffsetBuffer::new_empty());
        }
        let offsets = scalars::<i32>(buffer, len + 1)?;
        let rises = offsets.first().is_some_and(|first| *first >= 0) && offsets.is_sorted();
        if rises { Ok(OffsetBuffer::new(offsets)) } else { Err("the offsets of a column do not rise".into()) }
    }
}

fn flags(bits: Buffer, len: usize) -> Result<BooleanBuffer, String> {
    if bits.len().saturating_mul(8) < len {
        return Err(format!("{} bytes cannot hold a bit for each of {len} rows", bits.len()));
    }
    Ok(BooleanBuffer::new(bits, 0, len))
}

/// The first `len` numbers of a buffer, which is copied where it does not lie as such numbers must.
fn scalars<T: ArrowNativeType>(buffer: Buffer, len: usize) -> Result<ScalarBuffer<T>, String> {
    let bytes = len.checked_mul(size_of::<T>()).filter(|bytes| *bytes <= buffer.len());
    let bytes = bytes.ok_or_else(|| format!("{} bytes cannot hold {len} rows", buffer.len()))?;
    let buffer = buffer.slice_with_length(0, bytes);
    let aligned = if buffer.as_ptr().align_offset(align_of::<T>()) == 0 {
        buffer
    } else {
        Buffer::from(buffer.as_slice())
    };
    Ok(ScalarBuffer::new(aligned, 0, len))
}
