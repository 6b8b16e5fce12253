"""Arrays with MLX's API on any GPU and the CPU."""

# Written by tools/stubs.py; do not edit.

from collections.abc import Callable, Iterator, Mapping, Sequence
from os import PathLike
from types import TracebackType
from typing import IO, Any, Literal, TypeAlias

from pellucid.core import cuda as cuda
from pellucid.core import distributed as distributed
from pellucid.core import fast as fast
from pellucid.core import fft as fft
from pellucid.core import linalg as linalg
from pellucid.core import metal as metal
from pellucid.core import random as random

__version__: str

scalar: TypeAlias = bool | int | float | complex
file: TypeAlias = str | PathLike[str] | IO[bytes]
DLPackCompatible: TypeAlias = Any
capsule: TypeAlias = Any
StreamOrDevice: TypeAlias = Stream | ThreadLocalStream | Device | DeviceType | None

class ArrayAt:
    """An array and a part of it that is to be updated."""

    def add(self, value: scalar | array) -> array:
        """A copy with the value added to the part."""

    def divide(self, value: scalar | array) -> array:
        """A copy with the part divided by the value."""

    def maximum(self, value: scalar | array) -> array:
        """A copy with the larger of the part and the value."""

    def minimum(self, value: scalar | array) -> array:
        """A copy with the smaller of the part and the value."""

    def multiply(self, value: scalar | array) -> array:
        """A copy with the part multiplied by the value."""

    def subtract(self, value: scalar | array) -> array:
        """A copy with the value subtracted from the part."""

    def __getitem__(self, index: Any, /) -> ArrayAt: ...

class ArrayIterator:
    """The arrays along the first axis."""

    def __iter__(self) -> ArrayIterator: ...

    def __next__(self) -> array: ...

class ArrayLike:
    """An object that offers an array through `__mlx_array__`."""

    def __init__(self, obj: Any, /) -> None: ...

class Device:
    """A device to run operations on."""

    @property
    def index(self) -> int:
        """Position among the devices of its type."""

    @property
    def type(self) -> DeviceType:
        """`cpu` or `gpu`."""

    def __init__(self, type: DeviceType, index: int = 0) -> None: ...

class DeviceType:
    """The kinds of device: `cpu` and `gpu`."""

    cpu: DeviceType

    gpu: DeviceType

    @property
    def name(self) -> str:
        """The name: `cpu` or `gpu`."""

    @property
    def value(self) -> int:
        """The number: 0 for `cpu`, 1 for `gpu`."""

class Dtype:
    """The type of an array's elements."""

    @property
    def size(self) -> int:
        """Bytes of one element."""

    def __hash__(self) -> int: ...

class DtypeCategory:
    """The families of element types."""

    complexfloating: DtypeCategory

    floating: DtypeCategory

    generic: DtypeCategory

    inexact: DtypeCategory

    integer: DtypeCategory

    number: DtypeCategory

    signedinteger: DtypeCategory

    unsignedinteger: DtypeCategory

class DtypeError(ValueError, RuntimeError):
    """A dtype that an operation does not take."""

class EvaluationError(ValueError, RuntimeError):
    """Elements that an operation cannot compute with."""

class FunctionExporter:
    """A function that is written to a file for several kinds of arguments. Made by `exporter`."""

    def close(self) -> None:
        """Completes the file."""

    def __enter__(self) -> Any: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None, /) -> Any: ...

class PrintOptions:
    """How arrays are printed: places after the point, or -1 for six significant digits."""

    @property
    def precision(self) -> int:
        """precision"""

    def __init__(self, precision: int = -1) -> None: ...

class RangeError(ValueError, IndexError):
    """An axis or a position outside of an array."""

class Stream:
    """A queue of work on a device. As a context manager, it takes the operations of its block."""

    @property
    def device(self) -> Device:
        """The device it belongs to."""

    @property
    def index(self) -> int:
        """Its number; streams of all devices are counted together."""

    @property
    def label(self) -> str | None:
        """The name that captures, graphs and reports show."""

    def set_label(self, label: str) -> None:
        """Names the stream, for captures, graphs and reports."""

    def __enter__(self) -> Stream: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None, /) -> Any: ...

class StreamContext:
    """A context manager that sets the stream and the device of the operations in its block, for this thread."""

    def __enter__(self) -> Any: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None, /) -> Any: ...

    def __init__(self, s: Stream | ThreadLocalStream | Device | DeviceType) -> None: ...

class ThreadLocalStream:
    """A handle that is a stream of its own in every thread that uses it."""

    @property
    def device(self) -> Device:
        """The device it belongs to."""

class _PrintOptionsContext:
    """Options that hold inside a block."""

    def __enter__(self) -> Any: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None, /) -> Any: ...

def _capture_start(path: str, mode: str | None = None, max_bytes: int | None = None) -> None:
    """Starts a capture into a file that must not exist yet."""

def _capture_stop() -> dict[str, object]:
    """Ends the capture and says what was written."""

def _dtype(name: str) -> Dtype:
    """The dtype of this name, for pickle."""

class _gc_func:
    """A function made from another one."""

def _is_capturing() -> bool:
    """Whether a capture runs."""

def _missing_names() -> list[str]:
    """The names of mlx.core that are not implemented."""

def _restore(data: bytes, shape: tuple[int, ...], dtype: Dtype) -> array:
    """An array from its bytes, for pickle."""

def _viewer_html() -> str:
    """The page that shows a trace; the trace goes where it says so."""

def abs(a: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """Absolute value; of a complex number its magnitude."""

def acos(a: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """Inverse cosine."""

def acosh(a: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """Inverse hyperbolic cosine."""

def add(a: scalar | array, b: scalar | array, stream: StreamOrDevice = None) -> array:
    """Sum."""

def addmm(c: array, a: array, b: array, /, alpha: float = 1.0, beta: float = 1.0, *, stream: StreamOrDevice = None) -> array:
    """alpha * (a @ b) + beta * c."""

def all(a: array, /, axis: None | int | Sequence[int] = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
    """True if all elements are not zero."""

def allclose(a: array, b: array, /, rtol: float = 1e-05, atol: float = 1e-08, *, equal_nan: bool = False, stream: StreamOrDevice = None) -> array:
    """True if isclose holds everywhere."""

def any(a: array, /, axis: None | int | Sequence[int] = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
    """True if one element is not zero."""

def arange(start: int | float, stop: None | int | float, step: None | int | float, dtype: Dtype | None = None, *, stream: StreamOrDevice = None) -> array:
    """Numbers from start up to but not including stop. With one number, it is stop."""

def arccos(a: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """Inverse cosine."""

def arccosh(a: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """Inverse hyperbolic cosine."""

def arcsin(a: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """Inverse sine."""

def arcsinh(a: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """Inverse hyperbolic sine."""

def arctan(a: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """Inverse tangent."""

def arctan2(a: scalar | array, b: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """Angle of the point (b, a)."""

def arctanh(a: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """Inverse hyperbolic tangent."""

def argmax(a: array, /, axis: None | int = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
    """Position of the first largest element, as uint32."""

def argmin(a: array, /, axis: None | int = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
    """Position of the first smallest element, as uint32."""

def argpartition(a: array, /, kth: int, axis: None | int = -1, *, stream: StreamOrDevice = None) -> array:
    """Positions that partition along an axis, as uint32."""

def argsort(a: array, /, axis: None | int = -1, *, stream: StreamOrDevice = None) -> array:
    """Positions that sort along an axis, as uint32."""

class array:
    """An array: elements of one dtype in any number of dimensions, computed when they are needed. They are copied, unless
    copy=False asks for elements of another library where they are, which raises a ValueError if they cannot stay there."""

    @property
    def T(self) -> array:
        """The axes reversed."""

    def abs(self, *, stream: StreamOrDevice = None) -> array:
        """Absolute value; of a complex number its magnitude."""

    def all(self, axis: None | int | Sequence[int] = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
        """True if all elements are not zero."""

    def any(self, axis: None | int | Sequence[int] = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
        """True if one element is not zero."""

    def argmax(self, axis: None | int = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
        """Position of the first largest element, as uint32."""

    def argmin(self, axis: None | int = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
        """Position of the first smallest element, as uint32."""

    def astype(self, dtype: Dtype, stream: StreamOrDevice = None) -> array:
        """The elements converted to another dtype."""

    @property
    def at(self) -> ArrayAt:
        """Updates that add up where an index names a place twice: a.at[i].add(v)."""

    def conj(self, *, stream: StreamOrDevice = None) -> array:
        """Complex conjugate."""

    def cos(self, *, stream: StreamOrDevice = None) -> array:
        """Cosine."""

    def cummax(self, axis: int | None = None, *, reverse: bool = False, inclusive: bool = True, stream: StreamOrDevice = None) -> array:
        """Running maximum."""

    def cummin(self, axis: int | None = None, *, reverse: bool = False, inclusive: bool = True, stream: StreamOrDevice = None) -> array:
        """Running minimum."""

    def cumprod(self, axis: int | None = None, *, reverse: bool = False, inclusive: bool = True, stream: StreamOrDevice = None) -> array:
        """Running product."""

    def cumsum(self, axis: int | None = None, *, reverse: bool = False, inclusive: bool = True, stream: StreamOrDevice = None) -> array:
        """Running sum."""

    def diag(self, k: int = 0, *, stream: StreamOrDevice = None) -> array:
        """A diagonal of a matrix, or a matrix with the elements on a diagonal."""

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1, stream: StreamOrDevice = None) -> array:
        """A diagonal of two axes, along a new last axis."""

    @property
    def dtype(self) -> Dtype:
        """Type of the elements."""

    def exp(self, *, stream: StreamOrDevice = None) -> array:
        """Exponential."""

    def flatten(self, start_axis: int = 0, end_axis: int = -1, *, stream: StreamOrDevice = None) -> array:
        """The axes from one to another joined."""

    @property
    def imag(self) -> array:
        """Imaginary part."""

    def item(self) -> scalar:
        """The only element as a Python number."""

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""

    def log(self, *, stream: StreamOrDevice = None) -> array:
        """Natural logarithm."""

    def log10(self, *, stream: StreamOrDevice = None) -> array:
        """Logarithm to base 10."""

    def log1p(self, *, stream: StreamOrDevice = None) -> array:
        """log(1 + x) without cancellation near zero."""

    def log2(self, *, stream: StreamOrDevice = None) -> array:
        """Logarithm to base 2."""

    def logcumsumexp(self, axis: int | None = None, *, reverse: bool = False, inclusive: bool = True, stream: StreamOrDevice = None) -> array:
        """Running logarithm of the sum of exponentials."""

    def logsumexp(self, axis: None | int | Sequence[int] = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
        """Logarithm of the sum of exponentials, without overflow."""

    @property
    def mT(self) -> array:
        """The last two axes swapped."""

    def max(self, axis: None | int | Sequence[int] = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
        """The largest element; NaN wins."""

    def mean(self, axis: None | int | Sequence[int] = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
        """The mean."""

    def min(self, axis: None | int | Sequence[int] = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
        """The smallest element; NaN wins."""

    def moveaxis(self, source: int, destination: int, *, stream: StreamOrDevice = None) -> array:
        """One axis moved to another place."""

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""

    @property
    def ndim(self) -> int:
        """Number of axes."""

    def prod(self, axis: None | int | Sequence[int] = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
        """The product."""

    @property
    def real(self) -> array:
        """Real part."""

    def reciprocal(self, *, stream: StreamOrDevice = None) -> array:
        """One divided by each element."""

    def reshape(self, *shape: int | Sequence[int], stream: StreamOrDevice = None) -> array:
        """The elements in another shape; one size may be -1."""

    def round(self, decimals: int = 0, *, stream: StreamOrDevice = None) -> array:
        """The nearest number with so many decimal places."""

    def rsqrt(self, *, stream: StreamOrDevice = None) -> array:
        """One over the square root."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the axes."""

    def sin(self, *, stream: StreamOrDevice = None) -> array:
        """Sine."""

    @property
    def size(self) -> int:
        """Number of elements."""

    def split(self, indices_or_sections: int | Sequence[int], axis: int = 0, *, stream: StreamOrDevice = None) -> list[array]:
        """Equal parts along an axis, or those between positions."""

    def sqrt(self, *, stream: StreamOrDevice = None) -> array:
        """Square root."""

    def square(self, *, stream: StreamOrDevice = None) -> array:
        """x * x, in the same dtype."""

    def squeeze(self, axis: None | int | Sequence[int] = None, *, stream: StreamOrDevice = None) -> array:
        """Without axes of size one."""

    def std(self, axis: None | int | Sequence[int] = None, keepdims: bool = False, ddof: int = 0, *, correction: int | None = None, stream: StreamOrDevice = None) -> array:
        """Standard deviation."""

    def sum(self, axis: None | int | Sequence[int] = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
        """The sum."""

    def swapaxes(self, axis1: int, axis2: int, *, stream: StreamOrDevice = None) -> array:
        """Two axes swapped."""

    def tolist(self) -> list[Any] | scalar:
        """The elements as nested lists; a number if there are no axes."""

    def transpose(self, *axes: int | Sequence[int], stream: StreamOrDevice = None) -> array:
        """The axes in another order; reversed if none is given."""

    def var(self, axis: None | int | Sequence[int] = None, keepdims: bool = False, ddof: int = 0, *, correction: int | None = None, stream: StreamOrDevice = None) -> array:
        """Variance."""

    def view(self, dtype: Dtype, *, stream: StreamOrDevice = None) -> array:
        """The same bytes read as another dtype."""

    def __abs__(self) -> array: ...

    def __add__(self, other: scalar | array, /) -> array: ...

    def __and__(self, other: scalar | array, /) -> array: ...

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any: ...

    def __array_namespace__(self, *, api_version: str | None = None) -> Any: ...

    def __bool__(self) -> bool: ...

    def __bytes__(self) -> bytes: ...

    def __complex__(self) -> complex: ...

    def __contains__(self, value: Any, /) -> bool: ...

    def __copy__(self) -> array: ...

    def __deepcopy__(self, memo: dict[int, Any], /) -> array: ...

    def __div__(self, other: scalar | array, /) -> array: ...

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None) -> Any: ...

    def __dlpack_device__(self) -> tuple[int, int]: ...

    def __eq__(self, other: object, /) -> Any: ...

    def __float__(self) -> float: ...

    def __floordiv__(self, other: scalar | array, /) -> array: ...

    def __ge__(self, other: scalar | array, /) -> array: ...

    def __getitem__(self, index: Any, /) -> array: ...

    def __gt__(self, other: scalar | array, /) -> array: ...

    def __hash__(self) -> int: ...

    def __iadd__(self, other: scalar | array, /) -> array: ...

    def __iand__(self, other: scalar | array, /) -> array: ...

    def __ifloordiv__(self, other: scalar | array, /) -> array: ...

    def __ilshift__(self, other: scalar | array, /) -> array: ...

    def __imatmul__(self, other: scalar | array, /) -> array: ...

    def __imod__(self, other: scalar | array, /) -> array: ...

    def __imul__(self, other: scalar | array, /) -> array: ...

    def __index__(self) -> int: ...

    def __int__(self) -> int: ...

    def __invert__(self) -> array: ...

    def __ior__(self, other: scalar | array, /) -> array: ...

    def __ipow__(self, other: scalar | array, mod: None = None, /) -> array: ...

    def __irshift__(self, other: scalar | array, /) -> array: ...

    def __isub__(self, other: scalar | array, /) -> array: ...

    def __iter__(self) -> Iterator[array]: ...

    def __itruediv__(self, other: scalar | array, /) -> array: ...

    def __ixor__(self, other: scalar | array, /) -> array: ...

    def __le__(self, other: scalar | array, /) -> array: ...

    def __len__(self) -> int: ...

    def __lshift__(self, other: scalar | array, /) -> array: ...

    def __lt__(self, other: scalar | array, /) -> array: ...

    def __matmul__(self, other: scalar | array, /) -> array: ...

    def __mod__(self, other: scalar | array, /) -> array: ...

    def __mul__(self, other: scalar | array, /) -> array: ...

    def __ne__(self, other: object, /) -> Any: ...

    def __neg__(self) -> array: ...

    def __or__(self, other: scalar | array, /) -> array: ...

    def __pos__(self) -> array: ...

    def __pow__(self, other: scalar | array, mod: None = None, /) -> array: ...

    def __radd__(self, other: scalar | array, /) -> array: ...

    def __rand__(self, other: scalar | array, /) -> array: ...

    def __rdiv__(self, other: scalar | array, /) -> array: ...

    def __rfloordiv__(self, other: scalar | array, /) -> array: ...

    def __rlshift__(self, other: scalar | array, /) -> array: ...

    def __rmatmul__(self, other: scalar | array, /) -> array: ...

    def __rmod__(self, other: scalar | array, /) -> array: ...

    def __rmul__(self, other: scalar | array, /) -> array: ...

    def __ror__(self, other: scalar | array, /) -> array: ...

    def __rpow__(self, other: scalar | array, mod: None = None, /) -> array: ...

    def __rrshift__(self, other: scalar | array, /) -> array: ...

    def __rshift__(self, other: scalar | array, /) -> array: ...

    def __rsub__(self, other: scalar | array, /) -> array: ...

    def __rtruediv__(self, other: scalar | array, /) -> array: ...

    def __rxor__(self, other: scalar | array, /) -> array: ...

    def __setitem__(self, index: Any, value: Any, /) -> None: ...

    def __setstate__(self, state: Any, /) -> None: ...

    def __sub__(self, other: scalar | array, /) -> array: ...

    def __truediv__(self, other: scalar | array, /) -> array: ...

    def __xor__(self, other: scalar | array, /) -> array: ...

    def __init__(self, val: Any, dtype: Dtype | None = None) -> None: ...

def array_equal(a: scalar | array, b: scalar | array, equal_nan: bool = False, stream: StreamOrDevice = None) -> array:
    """True if shapes and all elements are equal."""

def as_strided(a: array, /, shape: Sequence[int] | None = None, strides: Sequence[int] | None = None, offset: int = 0, *, stream: StreamOrDevice = None) -> array:
    """Any shape and strides over the row-major elements."""

def asarray(a: scalar | array | Sequence[Any] | DLPackCompatible, dtype: Dtype | None = None, *, copy: bool | None = None) -> array:
    """The object as an array. An array is returned as it is unless a copy or another dtype is asked for. Elements of other
    libraries stay where they are if they can; copy=True copies them, copy=False raises a ValueError where a copy is
    needed."""

def asin(a: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """Inverse sine."""

def asinh(a: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """Inverse hyperbolic sine."""

def astype(a: array, dtype: Dtype, /, *, stream: StreamOrDevice = None) -> array:
    """The elements converted to another dtype."""

def async_eval(*args: Any) -> None:
    """Starts the computation of arrays and returns at once."""

def atan(a: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """Inverse tangent."""

def atan2(a: scalar | array, b: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """Angle of the point (b, a)."""

def atanh(a: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """Inverse hyperbolic tangent."""

def atleast_1d(*arys: array, stream: StreamOrDevice = None) -> array | list[array]:
    """Each array with at least one axis."""

def atleast_2d(*arys: array, stream: StreamOrDevice = None) -> array | list[array]:
    """Each array with at least two axes."""

def atleast_3d(*arys: array, stream: StreamOrDevice = None) -> array | list[array]:
    """Each array with at least three axes."""

def bartlett(M: int, *, stream: StreamOrDevice = None) -> array:
    """The Bartlett window of so many points."""

bfloat16: Dtype

def bitwise_and(a: scalar | array, b: scalar | array, stream: StreamOrDevice = None) -> array:
    """Bits set in both."""

def bitwise_invert(a: scalar | array, stream: StreamOrDevice = None) -> array:
    """Every bit flipped; of a bool its opposite."""

def bitwise_left_shift(a: scalar | array, b: scalar | array, stream: StreamOrDevice = None) -> array:
    """a * 2**b, bits moved left."""

def bitwise_or(a: scalar | array, b: scalar | array, stream: StreamOrDevice = None) -> array:
    """Bits set in either."""

def bitwise_right_shift(a: scalar | array, b: scalar | array, stream: StreamOrDevice = None) -> array:
    """a / 2**b, bits moved right."""

def bitwise_xor(a: scalar | array, b: scalar | array, stream: StreamOrDevice = None) -> array:
    """Bits set in exactly one."""

def blackman(M: int, *, stream: StreamOrDevice = None) -> array:
    """The Blackman window of so many points."""

def block_masked_mm(a: array, b: array, /, block_size: int = 64, mask_out: array | None = None, mask_lhs: array | None = None, mask_rhs: array | None = None, *, stream: StreamOrDevice = None) -> array:
    """Matrix product with masked blocks."""

bool_: Dtype

def broadcast_arrays(*arrays: array, stream: StreamOrDevice = None) -> tuple[array, ...]:
    """The arrays, all with the shape they broadcast to."""

def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape that all of these broadcast to."""

def broadcast_to(a: scalar | array, /, shape: Sequence[int], *, stream: StreamOrDevice = None) -> array:
    """The array repeated up to a shape, without copying."""

def can_cast(from_: array | Dtype, to: Dtype) -> bool:
    """True if promotion turns the first type into the second."""

def ceil(a: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """The next integer above, in the same dtype."""

def check_grad(fun: Callable, *args: Any) -> int:
    """Compares the derivatives of `fun` at these arguments with differences, of each operation alone and of the whole, in
    float64 on the CPU. Returns how many were compared; raises a `ValueError` that names what is wrong, with its line."""

def checkpoint(fun: Callable) -> Callable:
    """A function like `fun` of which nothing but its arguments is kept for the way back: there it is computed again."""

def clear_cache() -> None:
    """Gives all cached memory back to the system."""

def clear_streams() -> None:
    """Waits for the work of all streams. Streams hold nothing else that could be cleared, and stay usable."""

def clip(a: array, /, a_min: scalar | array | None, a_max: scalar | array | None, *, stream: StreamOrDevice = None) -> array:
    """Elements held between two limits, one of which may be None."""

def compile(fun: Callable, inputs: object | None = None, outputs: object | None = None, shapeless: bool = False) -> Callable:
    """A function that records what `fun` does for each kind of arguments and makes only its operations from then on. Arrays in
    `inputs` are arguments that are not passed, those in `outputs` results that are not returned."""

complex64: Dtype

complexfloating: DtypeCategory

def concat(arrays: list[array], axis: int | None = 0, *, stream: StreamOrDevice = None) -> array:
    """Arrays joined along an axis; flat ones if it is None."""

def concatenate(arrays: list[array], axis: int | None = 0, *, stream: StreamOrDevice = None) -> array:
    """Arrays joined along an axis; flat ones if it is None."""

def conj(a: scalar | array, *, stream: StreamOrDevice = None) -> array:
    """Complex conjugate."""

def conjugate(a: scalar | array, *, stream: StreamOrDevice = None) -> array:
    """Complex conjugate."""

def contiguous(a: array, /, allow_col_major: bool = False, *, stream: StreamOrDevice = None) -> array:
    """The array row-major in memory; column-major is never kept here."""

def conv1d(input: array, weight: array, /, stride: int = 1, padding: int = 0, dilation: int = 1, groups: int = 1, *, stream: StreamOrDevice = None) -> array:
    """A convolution along one axis; channels last."""

def conv2d(input: array, weight: array, /, stride: int | tuple[int, int] = 1, padding: int | tuple[int, int] = 0, dilation: int | tuple[int, int] = 1, groups: int = 1, *, stream: StreamOrDevice = None) -> array:
    """A convolution along two axes; channels last."""

def conv3d(input: array, weight: array, /, stride: int | tuple[int, int, int] = 1, padding: int | tuple[int, int, int] = 0, dilation: int | tuple[int, int, int] = 1, groups: int = 1, *, stream: StreamOrDevice = None) -> array:
    """A convolution along three axes; channels last."""

def conv_general(input: array, weight: array, /, stride: int | Sequence[int] = 1, padding: int | Sequence[int] | tuple[Sequence[int], Sequence[int]] = 0, kernel_dilation: int | Sequence[int] = 1, input_dilation: int | Sequence[int] = 1, groups: int = 1, flip: bool = False, *, stream: StreamOrDevice = None) -> array:
    """A convolution along one to three axes; channels last."""

def conv_transpose1d(input: array, weight: array, /, stride: int = 1, padding: int = 0, dilation: int = 1, output_padding: int = 0, groups: int = 1, *, stream: StreamOrDevice = None) -> array:
    """The transposed convolution along one axis."""

def conv_transpose2d(input: array, weight: array, /, stride: int | tuple[int, int] = 1, padding: int | tuple[int, int] = 0, dilation: int | tuple[int, int] = 1, output_padding: int | tuple[int, int] = 0, groups: int = 1, *, stream: StreamOrDevice = None) -> array:
    """The transposed convolution along two axes."""

def conv_transpose3d(input: array, weight: array, /, stride: int | tuple[int, int, int] = 1, padding: int | tuple[int, int, int] = 0, dilation: int | tuple[int, int, int] = 1, output_padding: int | tuple[int, int, int] = 0, groups: int = 1, *, stream: StreamOrDevice = None) -> array:
    """The transposed convolution along three axes."""

def convolve(a: array, v: array, /, mode: str = "full", *, stream: StreamOrDevice = None) -> array:
    """The discrete convolution of two arrays with one axis each."""

def cos(a: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """Cosine."""

def cosh(a: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """Hyperbolic cosine."""

def count_nonzero(a: array, /, *, axis: None | int | Sequence[int] = None, keepdims: bool = False, stream: StreamOrDevice = None) -> array:
    """How many elements are not zero."""

cpu: DeviceType

def cummax(a: array, /, axis: int | None = None, *, reverse: bool = False, inclusive: bool = True, dtype: Dtype | None = None, stream: StreamOrDevice = None) -> array:
    """Running maximum."""

def cummin(a: array, /, axis: int | None = None, *, reverse: bool = False, inclusive: bool = True, dtype: Dtype | None = None, stream: StreamOrDevice = None) -> array:
    """Running minimum."""

def cumprod(a: array, /, axis: int | None = None, *, reverse: bool = False, inclusive: bool = True, dtype: Dtype | None = None, stream: StreamOrDevice = None) -> array:
    """Running product."""

def cumsum(a: array, /, axis: int | None = None, *, reverse: bool = False, inclusive: bool = True, dtype: Dtype | None = None, stream: StreamOrDevice = None) -> array:
    """Running sum."""

def cumulative_prod(a: array, /, axis: int | None = None, *, reverse: bool = False, inclusive: bool = True, dtype: Dtype | None = None, stream: StreamOrDevice = None) -> array:
    """Running product."""

def cumulative_sum(a: array, /, axis: int | None = None, *, reverse: bool = False, inclusive: bool = True, dtype: Dtype | None = None, stream: StreamOrDevice = None) -> array:
    """Running sum."""

class custom_function:
    """A function whose derivatives the user writes."""

    def jvp(self, f: Callable) -> custom_function:
        """Sets the rule for tangents: f(primals, tangents)."""

    def vjp(self, f: Callable) -> custom_function:
        """Sets the rule for gradients: f(primals, cotangents, outputs)."""

    def vmap(self, f: Callable) -> custom_function:
        """Sets the rule for batches: f(inputs, axes), which returns outputs and axes."""

def default_device() -> Device:
    """The device that operations run on. With a device, a context manager that makes it the default of its block."""

def default_stream(device: Device | DeviceType) -> Stream:
    """The stream that work on a device goes to."""

def degrees(a: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """Radians to degrees."""

def depends(inputs: array | Sequence[array], dependencies: array | Sequence[array]) -> array | list[array]:
    """The inputs, ready only when the dependencies are, without using their elements."""

def dequantize(w: array, /, scales: array, biases: array | None = None, group_size: int | None = None, bits: int | None = None, mode: str = 'affine', global_scale: array | None = None, dtype: Dtype | None = None, *, stream: StreamOrDevice = None) -> array:
    """The numbers that packed ones stand for."""

def device_count(device_type: DeviceType) -> int:
    """How many devices of a type there are."""

def device_info(d: Device | DeviceType | None = None) -> dict[str, str | int]:
    """What is known about a device; empty if it is not there."""

def diag(a: array, /, k: int = 0, *, stream: StreamOrDevice = None) -> array:
    """A diagonal of a matrix, or a matrix with the elements on a diagonal."""

def diagonal(a: array, offset: int = 0, axis1: int = 0, axis2: int = 1, stream: StreamOrDevice = None) -> array:
    """A diagonal of two axes, along a new last axis."""

def diff(a: array, /, n: int = 1, axis: int = -1, *, stream: StreamOrDevice = None) -> array:
    """Differences of neighbours along an axis, n times over."""

def disable_compile() -> None:
    """Lets compiled functions just run."""

def divide(a: scalar | array, b: scalar | array, stream: StreamOrDevice = None) -> array:
    """Quotient; integers give float32."""

def divmod(a: scalar | array, b: scalar | array, stream: StreamOrDevice = None) -> list[array]:
    """Quotient rounded down, and the remainder with the sign of the divisor."""

e: float

def einsum(subscripts: str, *operands: Any, stream: StreamOrDevice = None) -> array:
    """The Einstein sum that the subscripts describe."""

def einsum_path(subscripts: str, *operands: Any) -> tuple[list[tuple[int, ...]], str]:
    """The order in which einsum multiplies, and what it costs."""

def empty(shape: int | Sequence[int], dtype: Dtype | None = float32, *, stream: StreamOrDevice = None) -> array:
    """An array of zeros, by another name."""

def empty_like(a: array, /, dtype: Dtype | None = None, *, stream: StreamOrDevice = None) -> array:
    """Zeros with the shape of an array, by another name."""

def enable_compile() -> None:
    """Lets compiled functions be recorded and kept."""

def equal(a: scalar | array, b: scalar | array, stream: StreamOrDevice = None) -> array:
    """True where equal."""

def erf(a: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """Error function."""

def erfinv(a: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """Inverse error function."""

euler_gamma: float

def eval(*args: Any) -> None:
    """Computes arrays and waits for them. They may be inside lists, tuples and dictionaries."""

def exp(a: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """Exponential."""

def expand_dims(a: array, /, axis: int | Sequence[int], *, stream: StreamOrDevice = None) -> array:
    """New axes of size one, at these places of the result."""

def expm1(a: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """exp(x) - 1 without cancellation near zero."""

def export_function(file_or_callback: str | Callable, fun: Callable, *args: Any, shapeless: bool = False, metadata: str | None = None, **kwargs: Any) -> None:
    """Writes what `fun` does with arrays like these to a file, or tells it to a callback, one dictionary at a time."""

def export_to_dot(file: object, *args: Any, **kwargs: Any) -> None:
    """Writes the graph behind arrays in the language of Graphviz, to a path or a file. Keywords name arrays."""

def exporter(file: str, fun: Callable, *, shapeless: bool = False, metadata: str | None = None) -> FunctionExporter:
    """A callable that records `fun` for the arrays it is called with. The file is complete when it is closed, or when the
    `with` statement that it manages ends."""

def eye(n: int, m: int | None = None, k: int = 0, dtype: Dtype | None = float32, *, stream: StreamOrDevice = None) -> array:
    """Ones on a diagonal, zeros elsewhere."""

class finfo:
    """Limits of a floating type."""

    @property
    def bits(self) -> int:
        """bits"""

    @property
    def dtype(self) -> Dtype:
        """dtype"""

    @property
    def eps(self) -> float:
        """eps"""

    @property
    def max(self) -> float:
        """max"""

    @property
    def min(self) -> float:
        """min"""

    @property
    def smallest_normal(self) -> float:
        """smallest_normal"""

    def __init__(self, dtype: Dtype) -> None: ...

def flatten(a: array, /, start_axis: int = 0, end_axis: int = -1, *, stream: StreamOrDevice = None) -> array:
    """The axes from one to another joined."""

def flip(a: array, /, axis: None | int | Sequence[int] = None, *, stream: StreamOrDevice = None) -> array:
    """The order of elements along axes reversed."""

float16: Dtype

float32: Dtype

float64: Dtype

floating: DtypeCategory

def floor(a: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """The next integer below, in the same dtype."""

def floor_divide(a: scalar | array, b: scalar | array, stream: StreamOrDevice = None) -> array:
    """Quotient rounded down."""

def from_dlpack(x: DLPackCompatible, /, *, copy: bool | None = None) -> array:
    """An array of another library's elements: where they are if they can stay there, else a copy. copy=True always copies,
    copy=False raises a ValueError where a copy is needed. Nothing is ever written to elements that are shared; what their
    owner writes is seen by whatever is computed from them afterwards."""

def from_fp8(x: array, dtype: Dtype = bfloat16, *, stream: StreamOrDevice = None) -> array:
    """The numbers that eight bits (e4m3) stand for."""

def full(shape: int | Sequence[int], vals: scalar | array, dtype: Dtype | None = None, *, stream: StreamOrDevice = None) -> array:
    """A value everywhere."""

def full_like(a: array, vals: scalar | array, dtype: Dtype | None = None, *, stream: StreamOrDevice = None) -> array:
    """A value with the shape of an array."""

def gather_mm(a: array, b: array, /, lhs_indices: array | None = None, rhs_indices: array | None = None, *, sorted_indices: bool = False, stream: StreamOrDevice = None) -> array:
    """Products of chosen matrices."""

def gather_qmm(x: array, w: array, /, scales: array, biases: array | None = None, lhs_indices: array | None = None, rhs_indices: array | None = None, transpose: bool = True, group_size: int | None = None, bits: int | None = None, mode: str = 'affine', global_scale: array | None = None, *, sorted_indices: bool = False, stream: StreamOrDevice = None) -> array:
    """A product with packed weights, of matrices that indices choose."""

def gather_qqmm(x: array, w: array, /, scales: array | None = None, lhs_indices: array | None = None, rhs_indices: array | None = None, group_size: int | None = None, bits: int | None = None, mode: str = 'nvfp4', global_scale_x: array | None = None, global_scale_w: array | None = None, *, sorted_indices: bool = False, stream: StreamOrDevice = None) -> array:
    """A product of which both factors are packed, of matrices that indices choose."""

generic: DtypeCategory

def get_active_memory() -> int:
    """Bytes held by live arrays."""

def get_array_buffer_size(*args: Any) -> int:
    """Bytes of the distinct buffers behind evaluated arrays, which may be inside lists, tuples and dictionaries."""

def get_cache_memory() -> int:
    """Bytes kept for reuse."""

def get_memory_limit() -> int:
    """The most bytes to obtain from the system."""

def get_peak_memory() -> int:
    """The most bytes that live arrays held at one time."""

def get_printoptions() -> PrintOptions:
    """How arrays are printed now."""

gpu: DeviceType

def grad(fun: Callable, argnums: int | Sequence[int] | None = None, argnames: str | Sequence[str] = []) -> Callable:
    """A function that returns the gradient of `fun` by some of its arguments, which may be trees of arrays."""

def greater(a: scalar | array, b: scalar | array, stream: StreamOrDevice = None) -> array:
    """True where a > b."""

def greater_equal(a: scalar | array, b: scalar | array, stream: StreamOrDevice = None) -> array:
    """True where a >= b."""

def hadamard_transform(a: array, scale: float | None = None, stream: StreamOrDevice = None) -> array:
    """The last axis multiplied with a Hadamard matrix."""

def hamming(M: int, *, stream: StreamOrDevice = None) -> array:
    """The Hamming window of so many points."""

def hanning(M: int, *, stream: StreamOrDevice = None) -> array:
    """The Hanning window of so many points."""

def identity(n: int, dtype: Dtype | None = float32, *, stream: StreamOrDevice = None) -> array:
    """The square array with ones on the diagonal."""

class iinfo:
    """Limits of an integer type."""

    @property
    def bits(self) -> int:
        """bits"""

    @property
    def dtype(self) -> Dtype:
        """dtype"""

    @property
    def max(self) -> int:
        """max"""

    @property
    def min(self) -> int:
        """min"""

    def __init__(self, dtype: Dtype) -> None: ...

def imag(a: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """Imaginary part; zero for real numbers."""

def import_function(file: str, return_metadata: bool = False) -> Callable | tuple[Callable, str]:
    """The function that `export_function` wrote to a file, which returns a tuple of arrays; and the text beside it if that is
    asked for."""

inexact: DtypeCategory

inf: float

def inner(a: array, b: array, /, *, stream: StreamOrDevice = None) -> array:
    """Products summed over the last axis of both."""

int16: Dtype

int32: Dtype

int64: Dtype

int8: Dtype

integer: DtypeCategory

def is_available(device: Device | DeviceType) -> bool:
    """True if the device is there."""

def isclose(a: array, b: array, /, rtol: float = 1e-05, atol: float = 1e-08, *, equal_nan: bool = False, stream: StreamOrDevice = None) -> array:
    """True where |a - b| <= atol + rtol * |b|."""

def isdtype(dtype: Dtype, kind: Dtype | str | tuple[Dtype | str, ...]) -> bool:
    """True if a type is of a kind: a type, one of the names of the array API standard, or a tuple of these."""

def isfinite(a: scalar | array, stream: StreamOrDevice = None) -> array:
    """True where neither infinite nor NaN."""

def isinf(a: scalar | array, stream: StreamOrDevice = None) -> array:
    """True where infinite, of either sign."""

def isnan(a: scalar | array, stream: StreamOrDevice = None) -> array:
    """True where not a number."""

def isneginf(a: scalar | array, stream: StreamOrDevice = None) -> array:
    """True where negative infinity."""

def isposinf(a: scalar | array, stream: StreamOrDevice = None) -> array:
    """True where positive infinity."""

def issubdtype(arg1: Dtype | DtypeCategory, arg2: Dtype | DtypeCategory) -> bool:
    """True if the first is the second or belongs to it."""

def jvp(fun: Callable, primals: list[array], tangents: list[array]) -> tuple[list[array], list[array]]:
    """What `fun` returns, and the product of its Jacobian with the tangents."""

def kron(a: array, b: array, *, stream: StreamOrDevice = None) -> array:
    """Kronecker product."""

def left_shift(a: scalar | array, b: scalar | array, stream: StreamOrDevice = None) -> array:
    """a * 2**b, bits moved left."""

def less(a: scalar | array, b: scalar | array, stream: StreamOrDevice = None) -> array:
    """True where a < b."""

def less_equal(a: scalar | array, b: scalar | array, stream: StreamOrDevice = None) -> array:
    """True where a <= b."""

def linspace(start: scalar, stop: scalar, num: int | None = 50, endpoint: bool = True, dtype: Dtype | None = float32, stream: StreamOrDevice = None) -> array:
    """Evenly spaced numbers."""

def load(file: file, /, format: str | None = None, return_metadata: bool = False, *, stream: StreamOrDevice = None) -> array | dict[str, array] | tuple[dict[str, array], dict[str, Any]]:
    """Loads a .npy, .npz, .safetensors or .gguf file."""

def log(a: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """Natural logarithm."""

def log10(a: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """Logarithm to base 10."""

def log1p(a: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """log(1 + x) without cancellation near zero."""

def log2(a: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """Logarithm to base 2."""

def logaddexp(a: scalar | array, b: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """log(exp(a) + exp(b)) without overflow."""

def logcumsumexp(a: array, /, axis: int | None = None, *, reverse: bool = False, inclusive: bool = True, dtype: Dtype | None = None, stream: StreamOrDevice = None) -> array:
    """Running logarithm of the sum of exponentials."""

def logical_and(a: scalar | array, b: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """True where both are not zero."""

def logical_not(a: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """True where the element is zero."""

def logical_or(a: scalar | array, b: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """True where one is not zero."""

def logical_xor(a: scalar | array, b: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """True where exactly one is not zero."""

def logsumexp(a: array, /, axis: None | int | Sequence[int] = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
    """Logarithm of the sum of exponentials, without overflow."""

def matmul(a: array, b: array, /, *, stream: StreamOrDevice = None) -> array:
    """Matrix product of the last two axes."""

def matrix_norm(a: array, /, ord: None | int | float | str = None, axis: None | int | list[int] = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
    """The norm of vectors or matrices."""

def matrix_transpose(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """The last two axes swapped."""

def max(a: array, /, axis: None | int | Sequence[int] = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
    """The largest element; NaN wins."""

def maximum(a: scalar | array, b: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """The larger; NaN wins."""

def mean(a: array, /, axis: None | int | Sequence[int] = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
    """The mean."""

def median(a: array, /, axis: None | int | Sequence[int] = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
    """The median."""

def meshgrid(*arrays: array, sparse: bool | None = False, indexing: str | None = 'xy', stream: StreamOrDevice = None) -> tuple[array, ...]:
    """Coordinate arrays from one-dimensional ones."""

def min(a: array, /, axis: None | int | Sequence[int] = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
    """The smallest element; NaN wins."""

def minimum(a: scalar | array, b: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """The smaller; NaN wins."""

def minmax(a: array, /, axis: None | int | Sequence[int] = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> tuple[array, array]:
    """The smallest and the largest element."""

def moveaxis(a: array, /, source: int, destination: int, *, stream: StreamOrDevice = None) -> array:
    """One axis moved to another place."""

def multiply(a: scalar | array, b: scalar | array, stream: StreamOrDevice = None) -> array:
    """Product."""

nan: float

def nan_to_num(a: scalar | array, nan: float = 0, posinf: float | None = None, neginf: float | None = None, *, stream: StreamOrDevice = None) -> array:
    """NaN and infinities replaced by numbers."""

def negative(a: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """The opposite sign."""

def new_stream(device: Device | DeviceType | None = None) -> Stream:
    """A new stream on a device, or on the default one. It works from every thread."""

def new_thread_local_stream(device: Device | DeviceType) -> ThreadLocalStream:
    """A handle that is a stream of its own in every thread that uses it."""

def new_thread_unsafe_stream(device: Device | DeviceType) -> Stream:
    """A new stream on a device. Every stream works from every thread here, so that this is new_stream by another name."""

newaxis: None

def not_equal(a: scalar | array, b: scalar | array, stream: StreamOrDevice = None) -> array:
    """True where different."""

number: DtypeCategory

def ones(shape: int | Sequence[int], dtype: Dtype | None = float32, *, stream: StreamOrDevice = None) -> array:
    """An array of ones."""

def ones_like(a: array, /, dtype: Dtype | None = None, *, stream: StreamOrDevice = None) -> array:
    """Ones with the shape of an array."""

def outer(a: array, b: array, /, *, stream: StreamOrDevice = None) -> array:
    """Every product of an element of a with one of b."""

def pad(a: array, pad_width: int | Sequence[int] | Sequence[tuple[int, int]], mode: str = 'constant', constant_values: scalar | array = 0, *, stream: StreamOrDevice = None) -> array:
    """Elements added at the ends of axes."""

def partition(a: array, /, kth: int, axis: None | int = -1, *, stream: StreamOrDevice = None) -> array:
    """Smaller elements before, larger ones behind the one that sorting puts at position kth."""

def permute_dims(a: array, /, axes: Sequence[int] | None = None, *, stream: StreamOrDevice = None) -> array:
    """The axes in another order; reversed if none is given."""

pi: float

def positive(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """The array itself."""

def pow(a: scalar | array, b: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """a to the power of b."""

def power(a: scalar | array, b: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """a to the power of b."""

def printoptions(precision: int = -1) -> _PrintOptionsContext:
    """A context manager that sets how arrays are printed inside its block."""

def prod(a: array, /, axis: None | int | Sequence[int] = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
    """The product."""

def put_along_axis(a: array, /, indices: array, values: scalar | array, axis: int | None = None, *, stream: StreamOrDevice = None) -> array:
    """A copy with the elements that take_along_axis would give replaced."""

def qqmm(x: array, w: array, scales: array | None = None, group_size: int | None = None, bits: int | None = None, mode: str = 'nvfp4', global_scale_x: array | None = None, global_scale_w: array | None = None, *, stream: StreamOrDevice = None) -> array:
    """A product of which both factors are packed, x on the way."""

def quantize(w: array, /, group_size: int | None = None, bits: int | None = None, mode: str = 'affine', *, global_scale: array | None = None, stream: StreamOrDevice = None) -> tuple[array, array, array]:
    """Packs an array along its last axis: words, scales, and biases in mode affine."""

def quantized_matmul(x: array, w: array, /, scales: array, biases: array | None = None, transpose: bool = True, group_size: int | None = None, bits: int | None = None, mode: str = 'affine', *, stream: StreamOrDevice = None) -> array:
    """A product with packed weights."""

def radians(a: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """Degrees to radians."""

def real(a: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """Real part."""

def reciprocal(a: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """One divided by each element."""

def remainder(a: scalar | array, b: scalar | array, stream: StreamOrDevice = None) -> array:
    """Remainder, with the sign of the divisor."""

def repeat(array: array, repeats: int, axis: int | None = None, *, stream: StreamOrDevice = None) -> array:
    """Each element repeated."""

def reset_peak_memory() -> None:
    """Restarts the peak from what is active now."""

def reshape(a: array, /, shape: Sequence[int], *, stream: StreamOrDevice = None) -> array:
    """The elements in another shape; one size may be -1."""

def result_type(*arrays_and_dtypes: array | Dtype) -> Dtype:
    """The type that the inputs are promoted to."""

def right_shift(a: scalar | array, b: scalar | array, stream: StreamOrDevice = None) -> array:
    """a / 2**b, bits moved right."""

def roll(a: array, shift: int | Sequence[int], axis: None | int | Sequence[int] = None, /, *, stream: StreamOrDevice = None) -> array:
    """Elements moved along axes; what leaves at one end comes in at the other."""

def round(a: array, /, decimals: int = 0, stream: StreamOrDevice = None) -> array:
    """The nearest number with so many decimal places."""

def rsqrt(a: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """One over the square root."""

def save(file: file, arr: array) -> None:
    """Saves an array as .npy, which is added to the path if it is missing."""

def save_gguf(file: file, arrays: dict[str, array], metadata: dict[str, array | str | list[str]] | None = None) -> None:
    """Saves arrays by name as .gguf, with notes beside them."""

def save_safetensors(file: file, arrays: dict[str, array], metadata: dict[str, str] | None = None) -> None:
    """Saves arrays by name as .safetensors, with notes beside them."""

def savez(file: file, *args: Any, **kwargs: Any) -> None:
    """Saves several arrays as .npz; keywords name them."""

def savez_compressed(file: file, *args: Any, **kwargs: Any) -> None:
    """Saves several arrays as compressed .npz; keywords name them."""

def searchsorted(sorted_sequence: array, values: array, /, side: str = 'left', *, stream: StreamOrDevice = None) -> array:
    """Where values belong in a sorted sequence."""

def segmented_mm(a: array, b: array, /, segments: array, *, stream: StreamOrDevice = None) -> array:
    """A matrix product for each segment of the inner axis."""

def set_cache_limit(limit: int) -> int:
    """Sets how many bytes the cache may keep and returns the previous limit."""

def set_default_device(device: Device | DeviceType) -> None:
    """Makes a device the default of the process."""

def set_default_stream(stream: Stream) -> None:
    """Makes a stream the default of its device."""

def set_memory_limit(limit: int, *, relaxed: bool = True) -> int:
    """Sets the memory limit and returns the previous one. An allocation beyond it evicts the cache, then waits for running
    work; if nothing is left to wait for, it goes ahead if relaxed, and raises RuntimeError if not."""

def set_printoptions(precision: int = -1) -> None:
    """Sets how many places after the point are printed; -1 prints six significant digits."""

def set_wired_limit(limit: int) -> int:
    """Accepted for programs written for MLX on Metal. Memory is not wired here: returns 0 and changes nothing."""

def sigmoid(a: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """1 / (1 + exp(-x))."""

def sign(a: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """-1, 0 or 1; of a complex number x / |x|."""

signedinteger: DtypeCategory

def sin(a: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """Sine."""

def sinh(a: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """Hyperbolic sine."""

def slice(a: array, start_indices: array, axes: Sequence[int], slice_size: Sequence[int], *, stream: StreamOrDevice = None) -> array:
    """A part of fixed size that starts where an array says."""

def slice_update(a: array, update: array, start_indices: array, axes: Sequence[int], *, stream: StreamOrDevice = None) -> array:
    """A copy with a part replaced that starts where an array says."""

def softmax(a: array, /, axis: None | int | Sequence[int] = None, *, precise: bool = False, stream: StreamOrDevice = None) -> array:
    """exp(x) divided by its sum, without overflow."""

def sort(a: array, /, axis: None | int = -1, *, stream: StreamOrDevice = None) -> array:
    """Elements in ascending order along an axis; NaN last."""

def split(a: array, /, indices_or_sections: int | Sequence[int], axis: int = 0, *, stream: StreamOrDevice = None) -> list[array]:
    """Equal parts along an axis, or those between positions."""

def sqrt(a: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """Square root."""

def square(a: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """x * x, in the same dtype."""

def squeeze(a: array, /, axis: None | int | Sequence[int] = None, *, stream: StreamOrDevice = None) -> array:
    """Without axes of size one."""

def stack(arrays: list[array], axis: int | None = 0, *, stream: StreamOrDevice = None) -> array:
    """Arrays of one shape joined along a new axis."""

def std(a: array, /, axis: None | int | Sequence[int] = None, keepdims: bool = False, ddof: int = 0, *, correction: int | None = None, stream: StreamOrDevice = None) -> array:
    """Standard deviation."""

def stop_gradient(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """The same elements, through which no derivative passes."""

def stream(s: Stream | ThreadLocalStream | Device | DeviceType) -> StreamContext:
    """A context manager that sets the stream and the device of the operations in its block."""

def subtract(a: scalar | array, b: scalar | array, stream: StreamOrDevice = None) -> array:
    """Difference."""

def sum(a: array, /, axis: None | int | Sequence[int] = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
    """The sum."""

def swapaxes(a: array, /, axis1: int, axis2: int, *, stream: StreamOrDevice = None) -> array:
    """Two axes swapped."""

def synchronize(stream: StreamOrDevice = None) -> None:
    """Waits until everything put on a stream so far is done."""

def take(a: array, /, indices: int | array, axis: int | None = None, *, stream: StreamOrDevice = None) -> array:
    """Elements at positions along an axis, or of the flat array."""

def take_along_axis(a: array, /, indices: array, axis: int | None = -1, *, stream: StreamOrDevice = None) -> array:
    """For each position of the indices, the element there, with the position along the axis replaced."""

def tan(a: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """Tangent."""

def tanh(a: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """Hyperbolic tangent."""

def tensordot(a: array, b: array, /, axes: int | list[Sequence[int]] = 2, *, stream: StreamOrDevice = None) -> array:
    """Products summed over axes of both."""

def tile(a: array, reps: int | Sequence[int], /, *, stream: StreamOrDevice = None) -> array:
    """The array repeated as a whole."""

def to_fp8(x: array, *, stream: StreamOrDevice = None) -> array:
    """Numbers rounded to eight bits (e4m3)."""

def topk(a: array, /, k: int, axis: None | int = -1, *, stream: StreamOrDevice = None) -> array:
    """The k largest elements along an axis."""

def trace(a: array, /, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Dtype | None = None, *, stream: StreamOrDevice = None) -> array:
    """The sum of a diagonal."""

def transpose(a: array, /, axes: Sequence[int] | None = None, *, stream: StreamOrDevice = None) -> array:
    """The axes in another order; reversed if none is given."""

def tri(n: int, m: int | None = None, k: int = 0, dtype: Dtype | None = None, *, stream: StreamOrDevice = None) -> array:
    """Ones on and below a diagonal, zeros above."""

def tril(x: array, k: int = 0, *, stream: StreamOrDevice = None) -> array:
    """The elements on and below a diagonal, zeros above."""

def triu(x: array, k: int = 0, *, stream: StreamOrDevice = None) -> array:
    """The elements on and above a diagonal, zeros below."""

def trunc(a: array, /, *, stream: StreamOrDevice = None) -> array:
    """The integer part, in the same dtype."""

uint16: Dtype

uint32: Dtype

uint64: Dtype

uint8: Dtype

def unflatten(a: array, /, axis: int, shape: Sequence[int], *, stream: StreamOrDevice = None) -> array:
    """One axis divided into several."""

def unique(a: array, /, size: int, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False, fill_value: scalar | array | None = None, *, stream: StreamOrDevice = None) -> array | tuple[array, ...]:
    """The different elements in ascending order, and where and how often they are."""

unsignedinteger: DtypeCategory

def unstack(x: array, /, *, axis: int = 0, stream: StreamOrDevice = None) -> tuple[array, ...]:
    """The arrays along an axis, which disappears."""

def value_and_grad(fun: Callable, argnums: int | Sequence[int] | None = None, argnames: str | Sequence[str] = []) -> Callable:
    """A function that returns what `fun` returns, and its gradient by some of its arguments."""

def var(a: array, /, axis: None | int | Sequence[int] = None, keepdims: bool = False, ddof: int = 0, *, correction: int | None = None, stream: StreamOrDevice = None) -> array:
    """Variance."""

def vecdot(a: array, b: array, /, *, axis: int = -1, stream: StreamOrDevice = None) -> array:
    """Products summed over one axis, with broadcasting over the others."""

def view(a: scalar | array, dtype: Dtype, stream: StreamOrDevice = None) -> array:
    """The same bytes read as another dtype."""

def vjp(fun: Callable, primals: list[array], cotangents: list[array]) -> tuple[list[array], list[array]]:
    """What `fun` returns, and the product of the cotangents with its Jacobian."""

def vmap(fun: Callable, in_axes: object = 0, out_axes: object = 0) -> Callable:
    """A function that calls `fun` for all lanes of its arguments at once. The axes are an integer, `None` for what is the
    same for all lanes, or trees of them like the arguments and the results."""

def where(condition: scalar | array, x: scalar | array, y: scalar | array, /, *, stream: StreamOrDevice = None) -> array:
    """x where the condition holds, else y."""

def zeros(shape: int | Sequence[int], dtype: Dtype | None = float32, *, stream: StreamOrDevice = None) -> array:
    """An array of zeros."""

def zeros_like(a: array, /, dtype: Dtype | None = None, *, stream: StreamOrDevice = None) -> array:
    """Zeros with the shape of an array."""
