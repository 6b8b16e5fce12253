//! Tables as types: [`table!`] turns a struct of fields into a row, a borrowed row, a builder and opened columns.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

/// A row of one of the tables.
pub trait Row: Sized + Send + 'static {
    /// Folder of the table's members.
    const TABLE: &'static str;
    /// How many columns it had in version 1 of the file; those after it may be missing.
    const FIRST_COLUMNS: usize;
    /// A row that borrows from the file.
    type View<'a>;
    /// Collects rows for one chunk.
    type Builder: RowBuilder<Row = Self>;
    /// The rows of one record batch.
    type Columns: RowColumns<Row = Self> + Send + Sync;
    /// The Arrow schema.
    fn schema() -> SchemaRef;
    /// About how many bytes the row takes in a file before compression.
    fn bytes(&self) -> usize;
    /// A row that does not borrow the file.
    fn own(view: Self::View<'_>) -> Self;
}

/// Collects rows column by column.
pub trait RowBuilder: Default + Send {
    /// The rows.
    type Row: Row;
    /// Adds a row.
    fn push(&mut self, row: &Self::Row);
    /// Ends the chunk and empties the builder.
    fn finish(&mut self) -> Result<RecordBatch, arrow_schema::ArrowError>;
}

/// The typed columns of one record batch.
pub trait RowColumns: Sized {
    /// The rows.
    type Row: Row;
    /// Opens a batch that has the table's schema.
    fn open(batch: &RecordBatch) -> Result<Self, String>;
    /// Number of rows.
    fn len(&self) -> usize;
    /// True if there are no rows.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Row number `i`, which must exist.
    fn view(&self, i: usize) -> <Self::Row as Row>::View<'_>;
}

macro_rules! table {
    (
        $(#[$meta:meta])*
        pub struct $row:ident = $table:literal $(of $first:literal columns in version 1)?, view $view:ident, columns $columns:ident, builder $builder:ident {
            $( $(#[$field_meta:meta])* pub $field:ident: $ty:ty, )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        pub struct $row { $( $(#[$field_meta])* pub $field: $ty, )* }

        #[doc = concat!("A row of `", $table, "` that borrows from the file; see [`", stringify!($row), "`].")]
        #[derive(Clone, Copy, Debug)]
        pub struct $view<'a> { $( $(#[$field_meta])* pub $field: <$ty as $crate::schema::Column>::View<'a>, )* }

        impl $view<'_> {
            /// A copy that does not borrow the file.
            pub fn to_row(&self) -> $row {
                <$row as $crate::schema::Row>::own(*self)
            }
        }

        #[doc = concat!("The columns of one batch of `", $table, "`.")]
        pub struct $columns { len: usize, $( $field: <$ty as $crate::schema::Column>::Array, )* }

        #[doc = concat!("Collects rows of `", $table, "`.")]
        pub struct $builder { $( $field: <$ty as $crate::schema::Column>::Builder, )* }

        const _: () = {
            use $crate::schema::{Column, Row, RowBuilder, RowColumns};

            impl Default for $builder {
                fn default() -> Self {
                    Self { $( $field: <$ty as Column>::builder(), )* }
                }
            }

            impl RowBuilder for $builder {
                type Row = $row;
                fn push(&mut self, row: &$row) {
                    $( row.$field.append(&mut self.$field); )*
                }
                fn finish(&mut self) -> Result<arrow_array::RecordBatch, arrow_schema::ArrowError> {
                    let columns = vec![ $( <$ty as Column>::finish(&mut self.$field), )* ];
                    arrow_array::RecordBatch::try_new($row::schema(), columns)
                }
            }

            impl RowColumns for $columns {
                type Row = $row;
                fn open(batch: &arrow_array::RecordBatch) -> Result<Self, String> {
                    let mut columns = batch.columns().iter();
                    let len = batch.num_rows();
                    Ok(Self {
                        len,
                        $( $field: match columns.next() {
                            Some(column) => <$ty as Column>::open(column),
                            None => <$ty as Column>::absent(len).ok_or_else(|| "the column is missing".to_owned()),
                        }
                        .map_err(|why| format!("{}: {why}", stringify!($field)))?, )*
                    })
                }
                fn len(&self) -> usize {
                    self.len
                }
                fn view(&self, i: usize) -> $view<'_> {
                    $view { $( $field: <$ty as Column>::view(&self.$field, i), )* }
                }
            }

            impl Row for $row {
                const TABLE: &'static str = $table;
                const FIRST_COLUMNS: usize = {
                    let all = [$(stringify!($field)),*].len();
                    let first: &[usize] = &[$($first)?];
                    if first.is_empty() { all } else { first[0] }
                };
                type View<'a> = $view<'a>;
                type Builder = $builder;
                type Columns = $columns;
                fn schema() -> arrow_schema::SchemaRef {
                    static SCHEMA: std::sync::LazyLock<arrow_schema::SchemaRef> = std::sync::LazyLock::new(|| {
                        std::sync::Arc::new(arrow_schema::Schema::new(vec![ $(
                            arrow_schema::Field::new(
                                stringify!($field), <$ty as Column>::data_type(), <$ty as Column>::NULLABLE,
                            ),
                        )* ]))
                    });
                    SCHEMA.clone()
                }
                fn bytes(&self) -> usize {
                    0 $( + Column::bytes(&self.$field) )*
                }
                fn own(view: $view<'_>) -> $row {
                    $row { $( $field: <$ty as Column>::own(view.$field), )* }
                }
            }
        };
    };
}
pub(crate) use table;
