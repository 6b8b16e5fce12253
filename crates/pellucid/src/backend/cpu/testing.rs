//! Test arrays with any type, shape and strides.

use half::{bf16, f16};
use num_complex::Complex32;

use super::tensor::{In, Out};
use crate::array::{Dtype, Shape};

/// An array for tests: bytes, and a view on them.
#[derive(Clone, Debug)]
pub(crate) struct Tensor {
    pub dtype: Dtype,
    pub shape: Vec<usize>,
    strides: Vec<isize>,
    offset: usize,
    // Eight-byte words, so that every element type is aligned.
    words: Vec<u64>,
}

impl Tensor {
    /// Row-major, zero.
    pub fn zeros(dtype: Dtype, shape: &[usize]) -> Tensor {
        let elements: usize = shape.iter().product();
        Tensor {
            dtype,
            shape: shape.to_vec(),
            strides: Shape::from(shape).row_major().to_vec(),
            offset: 0,
            words: vec![0; (elements * dtype.size()).div_ceil(8) + 1],
        }
    }

    /// Row-major; values converted to the type.
    pub fn new(dtype: Dtype, shape: &[usize], values: impl IntoIterator<Item = f64>) -> Tensor {
        let mut tensor = Tensor::zeros(dtype, shape);
        let elements = shape.iter().product();
        let values: Vec<f64> = values.into_iter().take(elements).collect();
        assert_eq!(values.len(), elements);
        let p: *mut u8 = tensor.words.as_mut_ptr().cast();
        for (i, &v) in values.iter().enumerate() {
            // SAFETY: `i` is below the number of elements.
            unsafe {
                match dtype {
                    Dtype::Bool => *p.add(i) = u8::from(v != 0.0),
                    Dtype::Uint8 => *p.add(i) = v as u8,
                    Dtype::Uint16 => *p.cast::<u16>().add(i) = v as u16,
                    Dtype::Uint32 => *p.cast::<u32>().add(i) = v as u32,
                    Dtype::Uint64 => *p.cast::<u64>().add(i) = v as u64,
                    Dtype::Int8 => *p.cast::<i8>().add(i) = v as i8,
                    Dtype::Int16 => *p.cast::<i16>().add(i) = v as i16,
                    Dtype::Int32 => *p.cast::<i32>().add(i) = v as i32,
                    Dtype::Int64 => *p.cast::<i64>().add(i) = v as i64,
                    Dtype::Float16 => *p.cast::<f16>().add(i) = f16::from_f64(v),
                    Dtype::Bfloat16 => *p.cast::<bf16>().add(i) = bf16::from_f64(v),
                    Dtype::Float32 => *p.cast::<f32>().add(i) = v as f32,
                    Dtype::Float64 => *p.cast::<f64>().add(i) = v,
                    Dtype::Complex64 => *p.cast::<Complex32>().add(i) = Complex32::new(v as f32, 0.0),
                }
            }
        }
        tensor
    }

    /// Small whole numbers, different along every axis; bool gets both values.
    pub fn counting(dtype: Dtype, shape: &[usize]) -> Tensor {
        let modulus = if dtype == Dtype::Bool { 2 } else { 7 };
        let low = if dtype.is_unsigned_integer() || dtype == Dtype::Bool { 0.0 } else { -3.0 };
        Tensor::new(dtype, shape, (0..).map(|i: usize| low + ((i * i + i / 3) % modulus) as f64))
    }

    /// The axes in another order.
    pub fn transposed(mut self, axes: &[usize]) -> Tensor {
        self.shape = axes.iter().map(|&a| self.shape[a]).collect();
        self.strides = axes.iter().map(|&a| self.strides[a]).collect();
        self
    }

    /// One axis backwards.
    pub fn flipped(mut self, axis: usize) -> Tensor {
        if self.shape[axis] > 0 {
            let back = (self.shape[axis] as isize - 1) * self.strides[axis];
            self.offset = (self.offset as isize + back) as usize;
        }
        self.strides[axis] = -self.strides[axis];
        self
    }

    /// An axis of size one repeated.
    pub fn repeated(mut self, axis: usize, size: usize) -> Tensor {
        assert_eq!(self.shape[axis], 1);
        self.shape[axis] = size;
        self.strides[axis] = 0;
        self
    }

    /// Every `step`-th position of an axis.
    pub fn stepped(mut self, axis: usize, step: usize) -> Tensor {
        self.shape[axis] = self.shape[axis].div_ceil(step);
        self.strides[axis] *= step as isize;
        self
    }

    pub fn as_in(&self) -> In<'_> {
        let p: *const u8 = self.words.as_ptr().cast();
        // SAFETY: views stay inside the words they were made from.
        unsafe { In::new(p.add(self.offset * self.dtype.size()), self.dtype, &self.shape, &self.strides) }
    }

    pub fn as_out(&mut self) -> Out<'_> {
        // SAFETY: row-major as made by `zeros`.
        unsafe { Out::new(self.words.as_mut_ptr().cast(), self.dtype, &self.shape) }
    }

    /// All positions in row-major order.
    pub fn positions(shape: &[usize]) -> Vec<Vec<usize>> {
        (0..shape.iter().product())
            .map(|mut flat: usize| {
                let mut index = vec![0; shape.len()];
                for (i, &d) in index.iter_mut().zip(shape).rev() {
                    *i = flat % d;
                    flat /= d;
                }
                index
            })
            .collect()
    }

    /// The element at a position; complex numbers give their real part.
    pub fn at(&self, index: &[usize]) -> f64 {
        let place: isize = index.iter().zip(&self.strides).map(|(&i, &s)| i as isize * s).sum();
        let i = (self.offset as isize + place) as usize;
        let p: *const u8 = self.words.as_ptr().cast();
        // SAFETY: a position of this view.
        unsafe {
            match self.dtype {
                Dtype::Bool => f64::from(u8::from(*p.add(i) != 0)),
                Dtype::Uint8 => f64::from(*p.add(i)),
                Dtype::Uint16 => f64::from(*p.cast::<u16>().add(i)),
                Dtype::Uint32 => f64::from(*p.cast::<u32>().add(i)),
                Dtype::Uint64 => *p.cast::<u64>().add(i) as f64,
                Dtype::Int8 => f64::from(*p.cast::<i8>().add(i)),
                Dtype::Int16 => f64::from(*p.cast::<i16>().add(i)),
                Dtype::Int32 => f64::from(*p.cast::<i32>().add(i)),
                Dtype::Int64 => *p.cast::<i64>().add(i) as f64,
                Dtype::Float16 => (*p.cast::<f16>().add(i)).to_f64(),
                Dtype::Bfloat16 => (*p.cast::<bf16>().add(i)).to_f64(),
                Dtype::Float32 => f64::from(*p.cast::<f32>().add(i)),
                Dtype::Float64 => *p.cast::<f64>().add(i),
                Dtype::Complex64 => f64::from((*p.cast::<Complex32>().add(i)).re),
            }
        }
    }

    /// All elements in row-major order.
    pub fn values(&self) -> Vec<f64> {
        Tensor::positions(&self.shape).iter().map(|i| self.at(i)).collect()
    }

    /// The same layout as another type.
    pub fn slice_mut<T: bytemuck::Pod>(&mut self) -> &mut [T] {
        let elements = self.shape.iter().product();
        &mut bytemuck::cast_slice_mut(&mut self.words)[..elements]
    }

    /// Views of many shapes and strides on small whole numbers, each with its name.
    pub fn views(dtype: Dtype) -> Vec<(&'static str, Tensor)> {
        let t = |shape: &[usize]| Tensor::counting(dtype, shape);
        vec![
            ("0-d", t(&[])),
            ("one", t(&[1])),
            ("vector", t(&[37])),
            ("long vector", t(&[5000])),
            ("matrix", t(&[5, 67])),
            ("wide", t(&[3, 2100])),
            ("tall", t(&[300, 40])),
            ("thin", t(&[130, 3])),
            ("empty", t(&[3, 0, 2])),
            ("transposed", t(&[40, 50]).transposed(&[1, 0])),
            ("flipped", t(&[6, 40]).flipped(1).flipped(0)),
            ("broadcast", t(&[4, 1, 33]).repeated(1, 5)),
            ("broadcast last", t(&[4, 33, 1]).repeated(2, 5)),
            ("stepped", t(&[9, 41]).stepped(1, 3).stepped(0, 2)),
            ("4-d permuted", t(&[3, 4, 5, 6]).transposed(&[2, 0, 3, 1])),
            ("8-d", t(&[2, 3, 1, 2, 2, 1, 3, 2]).transposed(&[7, 1, 2, 4, 3, 5, 0, 6]).flipped(1)),
        ]
    }

    /// Some sets of axes for this shape: none, all, each alone, and every other one.
    pub fn axis_sets(&self) -> Vec<Vec<usize>> {
        let n = self.shape.len();
        let mut sets =
            vec![vec![], (0..n).collect(), (0..n).step_by(2).collect(), (1..n).step_by(2).collect()];
        sets.extend((0..n).map(|i| vec![i]));
        sets
    }
}
