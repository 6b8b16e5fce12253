//! Iteration over the first axis.

use smallvec::{SmallVec, smallvec};

use super::{Array, Shape, fail};
use crate::error::Error;
use crate::op::{Op, SliceSpec};

/// The parts of an array along its first axis, as views; made by [`Array::rows`].
#[derive(Clone, Debug)]
pub struct Rows {
    source: Source,
    next: usize,
    end: usize,
}

#[derive(Clone, Debug)]
enum Source {
    Array(Array),
    /// Without a first axis there is nothing to iterate over: one array that says so.
    Failed(Array),
}

impl Array {
    /// The parts along the first axis: the elements of a vector as 0-d arrays, the rows of a matrix, and so on. They
    /// share the array's memory.
    ///
    /// ```
    /// use pellucid::Array;
    /// # fn main() -> pellucid::Result<()> {
    /// let a = Array::from([[1, 2], [3, 4]]);
    /// for (i, row) in a.rows().enumerate() {
    ///     assert_eq!(row.to_vec::<i32>()?, [[1, 2], [3, 4]][i]);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Of an array without axes there is one item, which fails with [`Error::Shape`]; of a failed array one that fails
    /// as it did.
    #[track_caller]
    pub fn rows(&self) -> Rows {
        if self.known_failure().is_some() {
            return Rows { source: Source::Failed(self.clone()), next: 0, end: 1 };
        }
        let Some(&end) = self.shape().first() else {
            let message = "an array without axes cannot be iterated over; read its element with item";
            let failed = fail(Error::shape("rows", message));
            return Rows { source: Source::Failed(failed), next: 0, end: 1 };
        };
        Rows { source: Source::Array(self.clone()), next: 0, end }
    }

    /// Position `index` of the first axis, which must be there.
    #[track_caller]
    fn row(&self, index: usize) -> Array {
        let mut spec = SliceSpec {
            start: SmallVec::from_elem(0, self.ndim()),
            size: self.shape().iter().copied().collect(),
            step: SmallVec::from_elem(1, self.ndim()),
        };
        (spec.start[0], spec.size[0]) = (index, 1);
        let part = Array::from_op(Op::Slice(Box::new(spec)), smallvec![self.clone()]);
        Array::from_op(Op::Reshape { shape: Shape::from(&self.shape()[1..]) }, smallvec![part])
    }
}

impl Rows {
    #[track_caller]
    fn get(&self, index: usize) -> Array {
        match &self.source {
            Source::Array(array) => array.row(index),
            Source::Failed(array) => array.clone(),
        }
    }
}

impl Iterator for Rows {
    type Item = Array;

    #[track_caller]
    fn next(&mut self) -> Option<Array> {
        (self.next < self.end).then(|| {
            self.next += 1;
            self.get(self.next - 1)
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.end - self.next, Some(self.end - self.next))
    }
}

impl DoubleEndedIterator for Rows {
    #[track_caller]
    fn next_back(&mut self) -> Option<Array> {
        (self.next < self.end).then(|| {
            self.end -= 1;
            self.get(self.end)
        })
    }
}

impl ExactSizeIterator for Rows {}

impl std::iter::FusedIterator for Rows {}

impl IntoIterator for &Array {
    type Item = Array;
    type IntoIter = Rows;

    /// [`Array::rows`].
    #[track_caller]
    fn into_iter(self) -> Rows {
        self.rows()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_views_in_order() {
        let a = Array::from([[1, 2, 3], [4, 5, 6], [7, 8, 9]]);
        let rows: Vec<Vec<i32>> = (&a).into_iter().map(|r| r.to_vec().unwrap()).collect();
        assert_eq!(rows, [[1, 2, 3], [4, 5, 6], [7, 8, 9]]);
        let mut rows = a.rows();
        assert_eq!(rows.len(), 3);
        assert_eq!(rows.next_back().unwrap().to_vec::<i32>().unwrap(), [7, 8, 9]);
        assert_eq!(rows.len(), 2);
        assert_eq!(rows.next().unwrap().shape(), [3]);
    }

    #[test]
    fn elements_of_a_vector_have_no_axes() {
        let items: Vec<f32> = Array::from([0.5f32, 1.5]).rows().map(|x| x.item().unwrap()).collect();
        assert_eq!(items, [0.5, 1.5]);
    }

    #[test]
    fn arrays_without_rows_and_without_axes() {
        assert_eq!(Array::from([[0u8; 3]; 0]).rows().count(), 0);
        let a = Array::from(1.0f32);
        let items: Vec<Array> = a.into_iter().collect();
        assert_eq!(items.len(), 1);
        assert!(matches!(items[0].item::<f32>().unwrap_err().root(), Error::Shape { .. }));
        let failed: Array = fail(Error::argument("test", "no luck"));
        assert_eq!(failed.rows().map(|row| row.check().is_err()).collect::<Vec<_>>(), [true]);
    }
}
