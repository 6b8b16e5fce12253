//! Columns whose values are lists. Lists and their elements are never missing.

use std::sync::Arc;

use arrow_array::builder::{ListBuilder, PrimitiveBuilder, StringBuilder, UInt64Builder};
use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, PrimitiveArray, StringArray};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field};

use super::column::{Column, wrong};

/// The field of a list's elements, which are never missing.
fn item(data_type: DataType) -> Field {
    Field::new("item", data_type, false)
}

/// Offsets and elements of a list column without missing lists or elements.
fn open_list(array: &ArrayRef, expected: &DataType) -> Result<(OffsetBuffer<i32>, ArrayRef), String> {
    let list = array.as_list_opt::<i32>().ok_or_else(|| wrong(expected, array))?;
    if list.null_count() + list.values().null_count() > 0 {
        return Err("a list or an element of one is missing".into());
    }
    Ok((list.offsets().clone(), list.values().clone()))
}

fn range(offsets: &OffsetBuffer<i32>, i: usize) -> std::ops::Range<usize> {
    offsets[i] as usize..offsets[i + 1] as usize
}

macro_rules! number_list {
    ($($rust:ty, $arrow:ty;)*) => {$(
        impl Column for Vec<$rust> {
            type View<'a> = &'a [$rust];
            type Builder = ListBuilder<PrimitiveBuilder<$arrow>>;
            type Array = (OffsetBuffer<i32>, PrimitiveArray<$arrow>);
            fn data_type() -> DataType {
                DataType::List(Arc::new(item(<$arrow>::DATA_TYPE)))
            }
            fn builder() -> Self::Builder {
                ListBuilder::new(PrimitiveBuilder::new()).with_field(item(<$arrow>::DATA_TYPE))
            }
            fn append(&self, builder: &mut Self::Builder) {
                builder.values().append_slice(self);
                builder.append(true);
            }
            fn finish(builder: &mut Self::Builder) -> ArrayRef {
                Arc::new(builder.finish())
            }
            fn bytes(&self) -> usize {
                4 + size_of::<$rust>() * self.len()
            }
            fn open(array: &ArrayRef) -> Result<Self::Array, String> {
                let (offsets, values) = open_list(array, &Self::data_type())?;
                let values = values.as_primitive_opt().cloned().ok_or_else(|| wrong(&Self::data_type(), array))?;
                Ok((offsets, values))
            }
            fn view(array: &Self::Array, i: usize) -> &[$rust] {
                &array.1.values()[range(&array.0, i)]
            }
            fn own(view: &[$rust]) -> Self {
                view.to_vec()
            }
        }
    )*};
}

number_list! {
    u64, UInt64Type;
    u32, UInt32Type;
}

/// A list of texts in a row.
#[derive(Clone, Copy)]
pub struct Texts<'a> {
    values: &'a StringArray,
    start: usize,
    end: usize,
}

impl<'a> Texts<'a> {
    /// Number of texts.
    pub fn len(&self) -> usize {
        self.end - self.start
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Text number `i`.
    pub fn get(&self, i: usize) -> Option<&'a str> {
        (i < self.len()).then(|| self.values.value(self.start + i))
    }

    /// All texts in order.
    pub fn iter(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let values = self.values;
        (self.start..self.end).map(move |i| values.value(i))
    }
}

impl std::fmt::Debug for Texts<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl Column for Vec<Arc<str>> {
    type View<'a> = Texts<'a>;
    type Builder = ListBuilder<StringBuilder>;
    type Array = (OffsetBuffer<i32>, StringArray);
    fn data_type() -> DataType {
        DataType::List(Arc::new(item(DataType::Utf8)))
    }
    fn builder() -> Self::Builder {
        ListBuilder::new(StringBuilder::new()).with_field(item(DataType::Utf8))
    }
    fn append(&self, builder: &mut Self::Builder) {
        self.iter().for_each(|text| builder.values().append_value(text));
        builder.append(true);
    }
    fn finish(builder: &mut Self::Builder) -> ArrayRef {
        Arc::new(builder.finish())
    }
    fn bytes(&self) -> usize {
        4 + self.iter().map(|text| text.bytes()).sum::<usize>()
    }
    fn open(array: &ArrayRef) -> Result<Self::Array, String> {
        let (offsets, values) = open_list(array, &Self::data_type())?;
        Ok((offsets, <Arc<str> as Column>::open(&values)?))
    }
    fn view(array: &Self::Array, i: usize) -> Texts<'_> {
        let range = range(&array.0, i);
        Texts { values: &array.1, start: range.start, end: range.end }
    }
    fn own(view: Texts<'_>) -> Self {
        view.iter().map(Into::into).collect()
    }
}

/// A list of shapes in a row.
#[derive(Clone, Copy)]
pub struct Shapes<'a> {
    inner: &'a OffsetBuffer<i32>,
    values: &'a [u64],
    start: usize,
    end: usize,
}

impl<'a> Shapes<'a> {
    /// Number of shapes.
    pub fn len(&self) -> usize {
        self.end - self.start
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Shape number `i`.
    pub fn get(&self, i: usize) -> Option<&'a [u64]> {
        (i < self.len()).then(|| &self.values[range(self.inner, self.start + i)])
    }

    /// All shapes in order.
    pub fn iter(&self) -> impl Iterator<Item = &'a [u64]> + use<'a> {
        let (inner, values) = (self.inner, self.values);
        (self.start..self.end).map(move |i| &values[range(inner, i)])
    }
}

impl std::fmt::Debug for Shapes<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl Column for Vec<Vec<u64>> {
    type View<'a> = Shapes<'a>;
    type Builder = ListBuilder<ListBuilder<UInt64Builder>>;
    type Array = (OffsetBuffer<i32>, <Vec<u64> as Column>::Array);
    fn data_type() -> DataType {
        DataType::List(Arc::new(item(<Vec<u64> as Column>::data_type())))
    }
    fn builder() -> Self::Builder {
        ListBuilder::new(<Vec<u64> as Column>::builder()).with_field(item(<Vec<u64> as Column>::data_type()))
    }
    fn append(&self, builder: &mut Self::Builder) {
        self.iter().for_each(|shape| shape.append(builder.values()));
        builder.append(true);
    }
    fn finish(builder: &mut Self::Builder) -> ArrayRef {
        Arc::new(builder.finish())
    }
    fn bytes(&self) -> usize {
        4 + self.iter().map(Column::bytes).sum::<usize>()
    }
    fn open(array: &ArrayRef) -> Result<Self::Array, String> {
        let (offsets, values) = open_list(array, &Self::data_type())?;
        Ok((offsets, <Vec<u64> as Column>::open(&values)?))
    }
    fn view(array: &Self::Array, i: usize) -> Shapes<'_> {
        let range = range(&array.0, i);
        let (inner, values) = &array.1;
        Shapes { inner, values: values.values(), start: range.start, end: range.end }
    }
    fn own(view: Shapes<'_>) -> Self {
        view.iter().map(<[u64]>::to_vec).collect()
    }
}
