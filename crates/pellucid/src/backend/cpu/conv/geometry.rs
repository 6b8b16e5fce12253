//! Which input element each tap of the kernel meets at each output position.

use super::super::layout::Shared;
use super::super::real::Real;
use crate::op::ConvSpec;

/// One spatial axis.
#[derive(Clone, Copy)]
struct Axis {
    input: usize,
    kernel: usize,
    output: usize,
    stride: usize,
    /// Zeros before the first element; a crop if negative.
    low: i64,
    kernel_dilation: usize,
    input_dilation: usize,
    flip: bool,
}

impl Axis {
    /// Positions with the same remainder of this have the same taps.
    fn period(&self) -> usize {
        self.input_dilation / gcd(self.stride, self.input_dilation)
    }

    /// Where a tap lies in the dilated input.
    fn place(&self, output: usize, tap: usize) -> i64 {
        let tap = if self.flip { self.kernel - 1 - tap } else { tap };
        (output * self.stride + tap * self.kernel_dilation) as i64 - self.low
    }

    /// The taps that meet elements rather than zeros between them, at positions of this remainder.
    fn taps(&self, remainder: usize) -> Vec<usize> {
        let meets = |tap: &usize| self.place(remainder, *tap).rem_euclid(self.input_dilation as i64) == 0;
        (0..self.kernel).filter(meets).collect()
    }

    /// The element that a tap meets; `None` outside the input.
    fn element(&self, output: usize, tap: usize) -> Option<usize> {
        let place = self.place(output, tap);
        let element = usize::try_from(place).ok()? / self.input_dilation;
        (element < self.input).then_some(element)
    }
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The sizes of a convolution.
pub(super) struct Geometry {
    axes: Vec<Axis>,
    pub batch: usize,
    pub inputs: usize,
    pub outputs: usize,
    pub groups: usize,
    /// Taps of the whole kernel.
    pub taps: usize,
    image: usize,
    out_image: usize,
}

impl Geometry {
    pub fn new(spec: &ConvSpec, x: &[usize], w: &[usize], out: &[usize]) -> Geometry {
        let n = x.len() - 2;
        let axis = |i: usize| Axis {
            input: x[i + 1],
            kernel: w[i + 1],
            output: out[i + 1],
            stride: spec.stride[i],
            low: spec.low[i],
            kernel_dilation: spec.kernel_dilation[i],
            input_dilation: spec.input_dilation[i],
            flip: spec.flip,
        };
        Geometry {
            axes: (0..n).map(axis).collect(),
            batch: x[0],
            inputs: x[n + 1],
            outputs: w[0],
            groups: spec.groups,
            taps: w[1..=n].iter().product(),
            image: x[1..=n].iter().product(),
            out_image: out[1..=n].iter().product(),
        }
    }

    pub fn inputs_per_group(&self) -> usize {
        self.inputs / self.groups
    }

    pub fn outputs_per_group(&self) -> usize {
        self.outputs / self.groups
    }

    /// One input and one output channel for each group.
    pub fn is_depthwise(&self) -> bool {
        self.inputs == self.groups && self.outputs == self.groups && self.groups > 1
    }

    /// The classes of output positions that share their taps; together all positions.
    pub fn classes(&self) -> Vec<Class> {
        let periods: Vec<usize> = self.axes.iter().map(|a| a.period().min(a.output)).collect();
        let number: usize = periods.iter().product();
        (0..number)
            .map(|mut rest| {
                let mut remainders = vec![0; periods.len()];
                for (remainder, &period) in remainders.iter_mut().zip(&periods).rev() {
                    *remainder = rest % period;
                    rest /= period;
                }
                Class::new(self, &remainders)
            })
            .collect()
    }
}

/// Output positions that share their taps.
pub(super) struct Class {
    /// Numbers of the taps in the whole kernel.
    pub taps: Vec<usize>,
    /// The same along each axis.
    axis_taps: Vec<Vec<usize>>,
    /// Output positions along each axis.
    axis_positions: Vec<Vec<usize>>,
    /// Along each axis, for each position and tap, the input element times its distance; −1 outside.
    elements: Vec<Vec<i64>>,
    positions: usize,
    /// Taps along the last axis meet neighbours, with all channels: they are copied together.
    together: bool,
}

impl Class {
    fn new(geometry: &Geometry, remainders: &[usize]) -> Class {
        let mut axis_taps = Vec::new();
        let mut axis_positions = Vec::new();
        let mut elements = Vec::new();
        let mut taps = vec![0];
        let mut distance = geometry.image;
        for (axis, &remainder) in geometry.axes.iter().zip(remainders) {
            let along = axis.taps(remainder);
            taps = taps.iter().flat_map(|t| along.iter().map(move |a| t * axis.kernel + a)).collect();
            let positions: Vec<usize> = (remainder..axis.output).step_by(axis.period()).collect();
            distance /= axis.input.max(1);
            let element = |p: usize, t: usize| axis.element(p, t).map_or(-1, |e| (e * distance) as i64);
            elements
                .push(positions.iter().flat_map(|&p| along.iter().map(move |&t| element(p, t))).collect());
            axis_positions.push(positions);
            axis_taps.push(along);
        }
        let last = geometry.axes.last();
        let together = geometry.groups == 1
            && last.is_some_and(|a| a.kernel_dilation == 1 && a.input_dilation == 1 && !a.flip);
        let positions = axis_positions.iter().map(Vec::len).product();
        Class { taps, axis_taps, axis_positions, elements, positions, together }
    }

    /// How many output positions of one image belong to the class.
    pub fn positions(&self) -> usize {
        self.positions
    }

    /// The row of the output, over all images, of a position of the class.
    pub fn output(&self, geometry: &Geometry, image: usize, mut position: usize) -> usize {
        let (mut row, mut distance) = (image * geometry.out_image, 1);
        for (axis, along) in geometry.axes.iter().zip(&self.axis_positions).rev() {
            row += along[position % along.len()] * distance;
            position /= along.len();
            distance *= axis.output;
        }
        row
    }

    /// Calls `body` with the number of each tap and the element of the image it meets, −1 outside.
    pub fn each_tap(&self, mut position: usize, mut body: impl FnMut(usize, i64)) {
        let n = self.axis_taps.len();
        let mut rows: smallvec::SmallVec<[&[i64]; 3]> = smallvec::SmallVec::from_elem(&[][..], n);
        for axis in (0..n).rev() {
            let (taps, along) = (self.axis_taps[axis].len(), self.axis_positions[axis].len());
            rows[axis] = &self.elements[axis][position % along * taps..][..taps];
            position /= along;
        }
        let inner = self.axis_taps[n - 1].len();
        for outer in 0..self.taps.len() / inner.max(1) {
            let (mut rest, mut base) = (outer, 0);
            for axis in (0..n - 1).rev() {
                let e = rows[axis][rest % self.axis_taps[axis].len()];
                rest /= self.axis_taps[axis].len();
                base = if e < 0 || base < 0 { -1 } else { base + e };
            }
            for (i, &e) in rows[n - 1].iter().enumerate() {
                body(outer * inner + i, if e < 0 || base < 0 { -1 } else { base + e });
            }
        }
    }

    /// Lays what the taps meet side by side, channels innermost; zero outside the image.
    ///
    /// # Safety
    /// `x` must hold the images, and `patch` be as long as taps and a group's channels.
    pub unsafe fn gather<A: Real>(
        &self,
        geometry: &Geometry,
        x: Shared<A>,
        image: usize,
        position: usize,
        group: usize,
        patch: &mut [A],
    ) {
        let channels = geometry.inputs_per_group();
        let start = (image * geometry.image * geometry.inputs + group * channels) as isize;
        let inner = self.axis_taps.last().map_or(1, Vec::len);
        // SAFETY: the caller's promise: elements of the image, places of the patch.
        unsafe {
            let mut run = (0usize, -1i64, 0usize);
            let mut copy = |(to, from, taps): (usize, i64, usize)| {
                let to = patch.as_mut_ptr().add(to * channels);
                if from < 0 {
                    std::ptr::write_bytes(to, 0, taps * channels);
                } else {
                    let from = x.at(start + from as isize * geometry.inputs as isize);
                    std::ptr::copy_nonoverlapping(from.cast_const(), to, taps * channels);
                }
            };
            // Neighbours that are copied together are one run.
            self.each_tap(position, |tap, element| {
                let (first, from, taps) = run;
                let goes_on = taps > 0
                    && !tap.is_multiple_of(inner)
                    && self.together
                    && if from < 0 { element < 0 } else { element == from + taps as i64 };
                if goes_on {
                    run.2 += 1;
                } else {
                    if taps > 0 {
                        copy((first, from, taps));
                    }
                    run = (tap, element, 1);
                }
            });
            if run.2 > 0 {
                copy(run);
            }
        }
    }

    /// The first element of an image and the channels of one element.
    pub fn image_start(geometry: &Geometry, image: usize) -> usize {
        image * geometry.image * geometry.inputs
    }
}
