//! A table in memory: the columns of its batches, lent row by row.

use crate::schema::{Row, RowColumns};

/// All rows of one table, stored by column. Rows are views; [`rows`](Self::rows) makes copies.
pub struct Table<R: Row> {
    batches: Vec<R::Columns>,
    /// Number of the first row of each batch.
    starts: Vec<usize>,
    len: usize,
}

impl<R: Row> Default for Table<R> {
    fn default() -> Self {
        Self { batches: Vec::new(), starts: Vec::new(), len: 0 }
    }
}

impl<R: Row> std::fmt::Debug for Table<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Table({}, {} rows)", R::TABLE, self.len)
    }
}

impl<R: Row> Table<R> {
    pub(super) fn add(&mut self, batch: R::Columns) {
        if !batch.is_empty() {
            self.starts.push(self.len);
            self.len += batch.len();
            self.batches.push(batch);
        }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Row number `i`.
    ///
    /// # Cost
    /// A binary search among the chunks; [`iter`](Self::iter) needs none.
    pub fn get(&self, i: usize) -> Option<R::View<'_>> {
        if i >= self.len {
            return None;
        }
        let batch = self.starts.partition_point(|start| *start <= i) - 1;
        Some(self.batches[batch].view(i - self.starts[batch]))
    }

    /// All rows in order.
    pub fn iter(&self) -> impl Iterator<Item = R::View<'_>> {
        self.batches.iter().flat_map(|batch| (0..batch.len()).map(|i| batch.view(i)))
    }

    /// Copies of all rows.
    pub fn rows(&self) -> Vec<R> {
        self.iter().map(R::own).collect()
    }
}
