"""Linear algebra."""

# Written by tools/stubs.py; do not edit.

from collections.abc import Callable, Iterator, Mapping, Sequence
from os import PathLike
from types import TracebackType
from typing import IO, Any, Literal, TypeAlias

from pellucid.core import Dtype, StreamOrDevice, array, float32, int32, scalar


def cholesky(a: array, upper: bool = False, *, stream: StreamOrDevice = None) -> array:
    """The triangular factor of positive definite matrices."""

def cholesky_inv(a: array, upper: bool = False, *, stream: StreamOrDevice = None) -> array:
    """The inverse of the matrices of which these are the Cholesky factors."""

def cross(a: array, b: array, axis: int = -1, *, stream: StreamOrDevice = None) -> array:
    """The cross product along an axis."""

def det(a: array, *, stream: StreamOrDevice = None) -> array:
    """The determinant of square matrices."""

def eig(a: array, *, stream: StreamOrDevice = None) -> tuple[array, array]:
    """Eigenvalues and eigenvectors of square matrices."""

def eigh(a: array, UPLO: str = 'L', *, stream: StreamOrDevice = None) -> tuple[array, array]:
    """Eigenvalues and eigenvectors of symmetric or Hermitian matrices."""

def eigvals(a: array, *, stream: StreamOrDevice = None) -> array:
    """Eigenvalues of square matrices."""

def eigvalsh(a: array, UPLO: str = 'L', *, stream: StreamOrDevice = None) -> array:
    """Eigenvalues of symmetric or Hermitian matrices."""

def inv(a: array, *, stream: StreamOrDevice = None) -> array:
    """The inverse of square matrices."""

def lu(a: array, *, stream: StreamOrDevice = None) -> tuple[array, array, array]:
    """Rows, and a lower and an upper triangular matrix, whose product is the matrix."""

def lu_factor(a: array, *, stream: StreamOrDevice = None) -> tuple[array, array]:
    """The matrices of lu in one, and the rows that were swapped."""

def norm(a: array, /, ord: None | int | float | str = None, axis: None | int | list[int] = None, keepdims: bool = False, *, stream: StreamOrDevice = None) -> array:
    """The norm of vectors or matrices."""

def pinv(a: array, *, stream: StreamOrDevice = None) -> array:
    """The Moore-Penrose inverse."""

def qr(a: array, *, stream: StreamOrDevice = None) -> tuple[array, array]:
    """Orthonormal columns and an upper triangular matrix, whose product is the matrix."""

def slogdet(a: array, *, stream: StreamOrDevice = None) -> tuple[array, array]:
    """The sign and the logarithm of the absolute value of the determinant."""

def solve(a: array, b: array, *, stream: StreamOrDevice = None) -> array:
    """x with a @ x = b."""

def solve_triangular(a: array, b: array, *, upper: bool = False, stream: StreamOrDevice = None) -> array:
    """x with a @ x = b for triangular matrices."""

def svd(a: array, compute_uv: bool = True, *, stream: StreamOrDevice = None) -> tuple[array, array, array]:
    """Left vectors, singular values and right vectors."""

def tri_inv(a: array, upper: bool = False, *, stream: StreamOrDevice = None) -> array:
    """The inverse of triangular matrices."""
