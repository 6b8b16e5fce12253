//! How one field of a row is stored as an Arrow column: its type, its builder and its way back.
//! Nothing here knows which tables exist.

use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, PrimitiveBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float64Type, Int32Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, BooleanArray, PrimitiveArray, StringArray};
use arrow_schema::DataType;

/// A type of field that a table can have.
pub trait Column: Sized {
    /// What a row of a file lends: plain numbers, `&str`, slices.
    type View<'a>;
    /// Collects values for one chunk.
    type Builder;
    /// The values of one chunk.
    type Array;

    /// Whether a value may be missing.
    const NULLABLE: bool = false;
    /// The Arrow type.
    fn data_type() -> DataType;
    /// An empty builder.
    fn builder() -> Self::Builder;
    /// Adds a value.
    fn append(&self, builder: &mut Self::Builder);
    /// Ends the chunk and empties the builder.
    fn finish(builder: &mut Self::Builder) -> ArrayRef;
    /// About how many bytes the value takes.
    fn bytes(&self) -> usize;
    /// The typed column behind `array`, if it has this type and keeps its promises.
    fn open(array: &ArrayRef) -> Result<Self::Array, String>;
    /// The column of a file that was written before there was one: `len` missing values, where values may be missing.
    fn absent(len: usize) -> Option<Self::Array> {
        let _ = len;
        None
    }
    /// Value number `i`, which must exist.
    fn view(array: &Self::Array, i: usize) -> Self::View<'_>;
    /// A copy that does not borrow the file.
    fn own(view: Self::View<'_>) -> Self;
}

pub(super) fn wrong(expected: &DataType, array: &ArrayRef) -> String {
    format!("the column has type {}, not {expected}", array.data_type())
}

macro_rules! number {
    ($($rust:ty, $arrow:ty, $null:tt, $inner:ty;)*) => {$(
        impl Column for $rust {
            type View<'a> = $rust;
            type Builder = PrimitiveBuilder<$arrow>;
            type Array = PrimitiveArray<$arrow>;
            const NULLABLE: bool = $null;
            fn data_type() -> DataType {
                <$arrow>::DATA_TYPE
            }
            fn builder() -> Self::Builder {
                PrimitiveBuilder::new()
            }
            fn append(&self, builder: &mut Self::Builder) {
                builder.append_option(Option::<$inner>::from(*self));
            }
            fn finish(builder: &mut Self::Builder) -> ArrayRef {
                Arc::new(builder.finish())
            }
            fn bytes(&self) -> usize {
                size_of::<$inner>()
            }
            fn open(array: &ArrayRef) -> Result<Self::Array, String> {
                array.as_primitive_opt::<$arrow>().cloned().ok_or_else(|| wrong(&Self::data_type(), array))
            }
            fn absent(len: usize) -> Option<Self::Array> {
                Self::NULLABLE.then(|| PrimitiveArray::new_null(len))
            }
            fn view(array: &Self::Array, i: usize) -> Self {
                number!(@view $null, array, i)
            }
            fn own(view: Self) -> Self {
                view
            }
        }
    )*};
    (@view true, $array:ident, $i:ident) => { $array.is_valid($i).then(|| $array.value($i)) };
    (@view false, $array:ident, $i:ident) => { $array.value($i) };
}

number! {
    u64, UInt64Type, false, u64;
    u32, UInt32Type, false, u32;
    i64, Int64Type, false, i64;
    i32, Int32Type, false, i32;
    Option<u64>, UInt64Type, true, u64;
    Option<u32>, UInt32Type, true, u32;
    Option<f64>, Float64Type, true, f64;
}

impl Column for bool {
    type View<'a> = bool;
    type Builder = BooleanBuilder;
    type Array = BooleanArray;
    fn data_type() -> DataType {
        DataType::Boolean
    }
    fn builder() -> Self::Builder {
        BooleanBuilder::new()
    }
    fn append(&self, builder: &mut Self::Builder) {
        builder.append_value(*self);
    }
    fn finish(builder: &mut Self::Builder) -> ArrayRef {
        Arc::new(builder.finish())
    }
    fn bytes(&self) -> usize {
        1
    }
    fn open(array: &ArrayRef) -> Result<Self::Array, String> {
        array.as_boolean_opt().cloned().ok_or_else(|| wrong(&DataType::Boolean, array))
    }
    fn view(array: &Self::Array, i: usize) -> bool {
        array.value(i)
    }
    fn own(view: bool) -> bool {
        view
    }
}

impl Column for Arc<str> {
    type View<'a> = &'a str;
    type Builder = StringBuilder;
    type Array = StringArray;
    fn data_type() -> DataType {
        DataType::Utf8
    }
    fn builder() -> Self::Builder {
        StringBuilder::new()
    }
    fn append(&self, builder: &mut Self::Builder) {
        builder.append_value(self);
    }
    fn finish(builder: &mut Self::Builder) -> ArrayRef {
        Arc::new(builder.finish())
    }
    fn bytes(&self) -> usize {
        4 + self.len()
    }
    fn open(array: &ArrayRef) -> Result<Self::Array, String> {
        array.as_string_opt::<i32>().cloned().ok_or_else(|| wrong(&DataType::Utf8, array))
    }
    fn view(array: &Self::Array, i: usize) -> &str {
        array.value(i)
    }
    fn own(view: &str) -> Self {
        view.into()
    }
}

impl Column for Option<Arc<str>> {
    type View<'a> = Option<&'a str>;
    type Builder = StringBuilder;
    type Array = StringArray;
    const NULLABLE: bool = true;
    fn data_type() -> DataType {
        DataType::Utf8
    }
    fn builder() -> Self::Builder {
        StringBuilder::new()
    }
    fn append(&self, builder: &mut Self::Builder) {
        builder.append_option(self.as_deref());
    }
    fn finish(builder: &mut Self::Builder) -> ArrayRef {
        Arc::new(builder.finish())
    }
    fn bytes(&self) -> usize {
        4 + self.as_ref().map_or(0, |text| text.len())
    }
    fn open(array: &ArrayRef) -> Result<Self::Array, String> {
        <Arc<str> as Column>::open(array)
    }
    fn absent(len: usize) -> Option<Self::Array> {
        Some(StringArray::new_null(len))
    }
    fn view(array: &Self::Array, i: usize) -> Option<&str> {
        array.is_valid(i).then(|| array.value(i))
    }
    fn own(view: Option<&str>) -> Self {
        view.map(Into::into)
    }
}
