//! What every operation is: its name, its family, how many arrays it takes and makes, and how it uses memory.
//!
//! The planner, the backends, captures and graphs read it here. There are no default arms: an operation without a
//! description does not compile.

use super::{ArgReduceOp, LinalgOp, NormKind, Op, ReduceOp, ScanOp, SvdVectors};

/// What kind of work an operation is. Traces carry it; colours, counts and advice go by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Family {
    /// Makes elements from numbers: `full`, `arange`.
    Creation,
    /// Makes random bits.
    Random,
    /// A function of single elements.
    Elementwise,
    /// The same elements in another arrangement; a view where the memory allows.
    Layout,
    /// Copies of whole arrays or parts into a new one: `concatenate`, `pad`.
    Assembly,
    /// Elements at positions that other arrays give.
    Indexing,
    /// Axes reduced to one element.
    Reduction,
    /// Running reductions.
    Scan,
    /// Softmax, and normalisation by statistics of an axis.
    Normalisation,
    /// Order: sorting, positions that sort.
    Sort,
    /// Matrix products.
    Matmul,
    /// Convolutions.
    Convolution,
    /// Attention.
    Attention,
    /// Products with packed weights, and packing.
    Quantized,
    /// Fourier transforms.
    Fft,
    /// Decompositions, inverses and solutions of linear systems.
    Linalg,
    /// Kernels of the user.
    Custom,
}

impl Family {
    /// Every family.
    pub const ALL: &'static [Family] = &[
        Family::Creation,
        Family::Random,
        Family::Elementwise,
        Family::Layout,
        Family::Assembly,
        Family::Indexing,
        Family::Reduction,
        Family::Scan,
        Family::Normalisation,
        Family::Sort,
        Family::Matmul,
        Family::Convolution,
        Family::Attention,
        Family::Quantized,
        Family::Fft,
        Family::Linalg,
        Family::Custom,
    ];

    /// The family's name, as traces spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Family::Creation => "creation",
            Family::Random => "random",
            Family::Elementwise => "elementwise",
            Family::Layout => "layout",
            Family::Assembly => "assembly",
            Family::Indexing => "indexing",
            Family::Reduction => "reduction",
            Family::Scan => "scan",
            Family::Normalisation => "normalisation",
            Family::Sort => "sort",
            Family::Matmul => "matmul",
            Family::Convolution => "convolution",
            Family::Attention => "attention",
            Family::Quantized => "quantized",
            Family::Fft => "fft",
            Family::Linalg => "linalg",
            Family::Custom => "custom",
        }
    }
}

/// How many arrays an operation takes or makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Count {
    /// Always this many.
    Exactly(usize),
    /// This many or more.
    AtLeast(usize),
    /// As many as the user's kernel declares.
    Declared,
}

/// Which inputs' memory the result may take over, if nobody else needs it and it is laid out the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TakesOver {
    Nothing,
    /// The first input's: a copy of it with a part replaced.
    First,
    /// Any input's: each element is read no later than it is overwritten.
    Any,
}

/// What the planner, the backends and captures need to know of an operation beside its meaning.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Description {
    pub family: Family,
    pub inputs: Count,
    pub results: Count,
    pub takes_over: TakesOver,
    /// The first of the inputs that hold positions in the first input, checked when it runs; one for each of
    /// [`Op::indexed_axes`].
    pub indices: Option<usize>,
    /// Whether it has a result worth computing on a device although an input has no elements.
    pub of_nothing: bool,
}

const fn takes(family: Family, inputs: usize) -> Description {
    Description {
        family,
        inputs: Count::Exactly(inputs),
        results: Count::Exactly(1),
        takes_over: TakesOver::Nothing,
        indices: None,
        of_nothing: false,
    }
}

const fn takes_many(family: Family) -> Description {
    takes_at_least(family, 1)
}

const fn takes_at_least(family: Family, inputs: usize) -> Description {
    Description { inputs: Count::AtLeast(inputs), ..takes(family, 0) }
}

impl Description {
    const fn makes(self, results: usize) -> Description {
        Description { results: Count::Exactly(results), ..self }
    }

    const fn over(self, takes_over: TakesOver) -> Description {
        Description { takes_over, ..self }
    }

    const fn indexed_by(self, first: usize) -> Description {
        Description { indices: Some(first), ..self }
    }

    const fn of_nothing(self) -> Description {
        Description { of_nothing: true, ..self }
    }
}

impl Op {
    /// The operation's description: one line each.
    pub(crate) fn describe(&self) -> &'static Description {
        use Family::*;
        match self {
            Op::Full { .. } | Op::Arange { .. } | Op::Load(_) => &const { takes(Creation, 0) },
            Op::RandomBits { .. } => &const { takes(Random, 1) },
            Op::Unary(_) | Op::Cast { .. } => &const { takes(Elementwise, 1).over(TakesOver::Any) },
            Op::Binary(_) => &const { takes(Elementwise, 2).over(TakesOver::Any) },
            Op::Divmod => &const { takes(Elementwise, 2).makes(2) },
            Op::Select => &const { takes(Elementwise, 3).over(TakesOver::Any) },
            Op::Reshape { .. } | Op::Transpose { .. } | Op::Broadcast { .. } => &const { takes(Layout, 1) },
            Op::Slice(_) | Op::AsStrided(_) | Op::View { .. } => &const { takes(Layout, 1) },
            Op::Contiguous => &const { takes(Layout, 1) },
            Op::Depends => &const { takes_many(Layout) },
            Op::StopGradient => &const { takes(Layout, 1) },
            Op::Concatenate { .. } => &const { takes_many(Assembly).of_nothing() },
            Op::Pad { .. } => &const { takes(Assembly, 2) },
            Op::SliceUpdate(_) => &const { takes(Assembly, 2).over(TakesOver::First) },
            Op::Take { .. } | Op::TakeAlongAxis { .. } => &const { takes(Indexing, 2).indexed_by(1) },
            Op::Gather { .. } => &const { takes_many(Indexing).indexed_by(1) },
            Op::Scatter { .. } => &const { takes_many(Indexing).indexed_by(1).over(TakesOver::First) },
            Op::PutAlongAxis { .. } => &const { takes(Indexing, 3).indexed_by(1) },
            Op::Reduce { .. } => &const { takes(Reduction, 1).of_nothing() },
            Op::ArgReduce { .. } => &const { takes(Reduction, 1) },
            Op::Scan { .. } => &const { takes(Scan, 1) },
            Op::Softmax { .. } => &const { takes(Normalisation, 1) },
            Op::Sort { .. } | Op::Argsort { .. } => &const { takes(Sort, 1) },
            Op::SearchSorted { .. } => &const { takes(Sort, 2) },
            Op::Fft(_) => &const { takes(Fft, 1) },
            Op::Matmul => &const { takes(Matmul, 2).of_nothing() },
            Op::SegmentedMm => &const { takes(Matmul, 3) },
            Op::Addmm { .. } => &const { takes(Matmul, 3) },
            Op::Conv(_) => &const { takes(Convolution, 2) },
            Op::QuantizedMatmul { .. } => &const { takes_at_least(Quantized, 3).of_nothing() },
            Op::Quantize { .. } => &const { takes_at_least(Quantized, 1) },
            Op::Dequantize { .. } => &const { takes_at_least(Quantized, 2) },
            Op::Norm { .. } => &const { takes_at_least(Normalisation, 1) },
            Op::NormBackward { .. } => &const { takes_at_least(Normalisation, 2) },
            Op::Rope(_) => &const { takes_at_least(Normalisation, 2) },
            Op::CrossEntropy => &const { takes(Normalisation, 2) },
            Op::CrossEntropyBackward => &const { takes(Normalisation, 3) },
            Op::Attention(_) => &const { takes_at_least(Attention, 3) },
            Op::AttentionBackward { .. } => &const { takes_at_least(Attention, 5) },
            Op::GatedDelta { .. } => &const { takes_at_least(Attention, 6) },
            Op::Linalg(LinalgOp::Solve | LinalgOp::TriangularSolve { .. }) => &const { takes(Linalg, 2) },
            Op::Linalg(LinalgOp::Lu | LinalgOp::Svd { vectors: SvdVectors::Thin | SvdVectors::Full }) => {
                &const { takes(Linalg, 1).makes(3) }
            }
            Op::Linalg(
                LinalgOp::Qr | LinalgOp::Eigh { vectors: true, .. } | LinalgOp::Eig { vectors: true },
            ) => &const { takes(Linalg, 1).makes(2) },
            Op::Linalg(
                LinalgOp::Cholesky
                | LinalgOp::Inverse
                | LinalgOp::TriangularInverse { .. }
                | LinalgOp::Svd { vectors: SvdVectors::None }
                | LinalgOp::Eigh { vectors: false, .. }
                | LinalgOp::Eig { vectors: false },
            ) => &const { takes(Linalg, 1) },
            Op::Custom(_) => {
                &const { Description { inputs: Count::Declared, results: Count::Declared, ..takes(Custom, 0) } }
            }
        }
    }

    /// What kind of work it is.
    ///
    /// ```
    /// use pellucid::op::{Family, Op};
    /// assert_eq!(Op::Matmul.family(), Family::Matmul);
    /// assert_eq!(Op::Contiguous.family().name(), "layout");
    /// ```
    pub fn family(&self) -> Family {
        self.describe().family
    }

    /// True for functions of single elements with one result, which the planner may fuse.
    #[inline]
    pub fn is_elementwise(&self) -> bool {
        let description = self.describe();
        description.family == Family::Elementwise && description.results == Count::Exactly(1)
    }

    /// How many arrays it makes.
    ///
    /// ```
    /// use pellucid::op::Op;
    /// assert_eq!((Op::Select.results(), Op::Divmod.results()), (1, 2));
    /// ```
    pub fn results(&self) -> usize {
        match (self.describe().results, self) {
            (Count::Exactly(n) | Count::AtLeast(n), _) => n,
            (Count::Declared, Op::Custom(kernel)) => kernel.outputs.len(),
            (Count::Declared, _) => 1,
        }
    }

    /// True for operations that change how elements are reached, not the elements.
    #[inline]
    pub fn is_layout(&self) -> bool {
        self.describe().family == Family::Layout
    }

    /// For each input of positions, the axis of the first input that it indexes.
    pub(crate) fn indexed_axes(&self) -> &[usize] {
        match self {
            Op::Take { axis } | Op::TakeAlongAxis { axis } | Op::PutAlongAxis { axis } => {
                std::slice::from_ref(axis)
            }
            Op::Gather { axes } | Op::Scatter { axes, .. } => axes,
            other => {
                debug_assert!(other.describe().indices.is_none(), "{other:?} does not say what it indexes");
                &[]
            }
        }
    }

    /// The operation's name, as graphs, labels and traces show it.
    pub fn name(&self) -> &'static str {
        match self {
            Op::Full { .. } => "full",
            Op::Arange { .. } => "arange",
            Op::Load(_) => "load",
            Op::RandomBits { .. } => "random_bits",
            Op::Unary(op) => op.name(),
            Op::Binary(op) => op.name(),
            Op::Divmod => "divmod",
            Op::Select => "where",
            Op::Cast { .. } => "astype",
            Op::Reshape { .. } => "reshape",
            Op::Transpose { .. } => "transpose",
            Op::Broadcast { .. } => "broadcast_to",
            Op::Slice(_) => "slice",
            Op::AsStrided(_) => "as_strided",
            Op::View { .. } => "view",
            Op::Contiguous => "contiguous",
            Op::Depends => "depends",
            Op::StopGradient => "stop_gradient",
            Op::Concatenate { .. } => "concatenate",
            Op::Pad { .. } => "pad",
            Op::SliceUpdate(_) => "slice_update",
            Op::Take { .. } => "take",
            Op::Gather { .. } => "gather",
            Op::Scatter { how, .. } => how.name(),
            Op::TakeAlongAxis { .. } => "take_along_axis",
            Op::PutAlongAxis { .. } => "put_along_axis",
            Op::Reduce { op, .. } => match op {
                ReduceOp::Sum => "sum",
                ReduceOp::Prod => "prod",
                ReduceOp::Max => "max",
                ReduceOp::Min => "min",
                ReduceOp::All => "all",
                ReduceOp::Any => "any",
                ReduceOp::Logsumexp => "logsumexp",
            },
            Op::ArgReduce { op: ArgReduceOp::Argmax, .. } => "argmax",
            Op::ArgReduce { op: ArgReduceOp::Argmin, .. } => "argmin",
            Op::Scan { op, .. } => match op {
                ScanOp::Cumsum => "cumsum",
                ScanOp::Cumprod => "cumprod",
                ScanOp::Cummax => "cummax",
                ScanOp::Cummin => "cummin",
                ScanOp::Logcumsumexp => "logcumsumexp",
            },
            Op::Softmax { .. } => "softmax",
            Op::Sort { .. } => "sort",
            Op::Argsort { .. } => "argsort",
            Op::SearchSorted { .. } => "searchsorted",
            Op::Fft(spec) => spec.name(),
            Op::Matmul => "matmul",
            Op::SegmentedMm => "segmented_mm",
            Op::Addmm { .. } => "addmm",
            Op::Conv(_) => "conv_general",
            Op::QuantizedMatmul { gather: false, .. } => "quantized_matmul",
            Op::QuantizedMatmul { gather: true, .. } => "gather_qmm",
            Op::Quantize { .. } => "quantize",
            Op::Dequantize { .. } => "dequantize",
            Op::Norm { kind, .. } => kind.name(),
            Op::NormBackward { kind: NormKind::Layer, .. } => "layer_norm_backward",
            Op::NormBackward { kind: NormKind::Rms, .. } => "rms_norm_backward",
            Op::Rope(_) => "rope",
            Op::CrossEntropy => "cross_entropy",
            Op::CrossEntropyBackward => "cross_entropy_backward",
            Op::Attention(_) => "scaled_dot_product_attention",
            Op::AttentionBackward { .. } => "scaled_dot_product_attention_backward",
            Op::GatedDelta { .. } => "gated_delta_update",
            Op::Linalg(op) => op.name(),
            Op::Custom(_) => "custom",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::op::{BinaryOp, Float, Scalar};
    use crate::{Dtype, Shape};

    fn full(value: Scalar) -> Op {
        Op::Full { shape: Shape::from(2), dtype: Dtype::Float32, value }
    }

    #[test]
    fn operations_are_equal_by_their_bits_and_can_be_looked_up() {
        let mut known = HashSet::new();
        for value in [0.0, -0.0, f64::NAN, 1.0] {
            assert!(known.insert(full(Scalar::Float(value))), "{value}");
            assert!(!known.insert(full(Scalar::Float(value))), "{value}");
        }
        assert!(known.insert(Op::Addmm { alpha: Float(f64::NAN), beta: Float(0.0) }));
        assert!(known.insert(Op::Addmm { alpha: Float(f64::NAN), beta: Float(-0.0) }));
        assert!(known.contains(&Op::Addmm { alpha: Float(f64::NAN), beta: Float(0.0) }));
        assert!(known.insert(Op::Binary(BinaryOp::Add)) && !known.contains(&Op::Binary(BinaryOp::Subtract)));
    }

    #[test]
    fn float_parameters_are_numbers_in_json_and_text_where_json_has_none() {
        let op = Op::Addmm { alpha: Float(0.5), beta: Float(f64::INFINITY) };
        let json = serde_json::to_string(&op).unwrap();
        assert_eq!(json, r#"{"addmm":{"alpha":0.5,"beta":"inf"}}"#);
        assert_eq!(serde_json::from_str::<Op>(&json).unwrap(), op);
    }

    #[test]
    fn every_family_has_a_name_of_its_own() {
        let names: HashSet<_> = Family::ALL.iter().map(|f| f.name()).collect();
        assert_eq!(names.len(), Family::ALL.len());
        assert!(!names.contains("input") && !names.contains("other"), "words that traces use otherwise");
    }

    #[test]
    fn select_and_cast_cost_what_they_cost_inside_a_program() {
        let shape = Shape::from(10);
        for op in [Op::Select, Op::Cast { dtype: Dtype::Int32 }] {
            let fused = crate::op::Func::of(&op).map(|f| f.flops() * 10);
            assert_eq!(fused, Some(op.flops(&[&shape, &shape, &shape], &shape)), "{op:?}");
        }
    }
}
