"""2:4 sparse matrices: of each 4 elements in a row 2 are stored, of each 2 of f32 1. They multiply in half the instructions, of half the bytes.

    weight = tilesmith.sparse.compress(tilesmith.sparse.prune(dense))      # n x k on "cuda"
    y = tilesmith.sparse.linear(x, weight, bias=bias, activation="gelu")   # x @ weight^T
    y = tilesmith.sparse.gemm(weight, b)                                   # weight @ b

docs/python.md. Arrays are what tilesmith.gemm takes. PyTorch and CuPy allocate what is made here; of others give `out`.
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, Structure, c_char, c_char_p, c_int32, c_int64, c_uint64, c_void_p
from typing import Any, NamedTuple, Optional, Tuple

from . import _abi
from ._arrays import View, adapter_of, look, stream_number, view_of
from ._defaults import library_of
from ._extra import NUMBERS, Extra, operands_of
from ._layout import is_packed, matrix
from ._library import Library
from ._prepare import Layouts, prepare
from ._products import allocate
from ._types import whole

_ELEMENTS = {"f16": "f16", "bf16": "bf16", "f32": "tf32", "s8": "s8", "u8": "u8", "e4m3": "e4m3", "e5m2": "e5m2"}

_PRUNINGS = {"strips": "prune", "tiles": "prune_tiles"}

_byref = ctypes.byref


class CSparseMatrix(Structure):
    """tilesmith_sparse.h."""

    _fields_ = [("element", c_char * 8), ("rows", c_int64), ("k", c_int64), ("ld_dense", c_int64), ("ld_values", c_int64), ("reserved", c_int64)]


class CSparseFault(Structure):
    _fields_ = [("groups", c_int64), ("row", c_int64), ("column", c_int64)]


_MATRIX, _FAULT = POINTER(CSparseMatrix), POINTER(CSparseFault)
_ARGUMENTS = {
    "matrix_init": [_MATRIX, c_char_p, c_int64, c_int64],
    "metadata_bytes": [_MATRIX, POINTER(c_uint64)],
    "prune": [c_void_p, c_void_p, _MATRIX, c_void_p, c_void_p],
    "prune_tiles": [c_void_p, c_void_p, _MATRIX, c_void_p, c_void_p],
    "check": [c_void_p, c_void_p, _MATRIX, c_void_p, _FAULT],
    "compress": [c_void_p, c_void_p, _MATRIX, c_void_p, c_void_p, c_void_p],
    "decompress": [c_void_p, c_void_p, _MATRIX, c_void_p, c_void_p, c_void_p],
    "check_metadata": [c_void_p, c_void_p, _MATRIX, c_void_p, _FAULT],
}


def _call(name: str, *arguments: Any) -> None:
    function = getattr(_abi.load(), "tilesmith_sparse_" + name)
    function.restype, function.argtypes = c_int32, _ARGUMENTS[name]
    _abi.check(function(*arguments))


def _metadata_words(c: CSparseMatrix) -> int:
    bytes_needed = c_uint64()
    _call("metadata_bytes", _byref(c), _byref(bytes_needed))
    return bytes_needed.value // 4


class Sparse(NamedTuple):
    """rows x k as its stored elements, rows x k/2, and where they stand (tilesmith_sparse.h). f32 is multiplied as tf32."""

    values: Any
    metadata: Any  # s32
    rows: int
    k: int
    dtype: str

    @property
    def shape(self) -> Tuple[int, int]:
        return self.rows, self.k


class _Matrix(NamedTuple):
    c: CSparseMatrix
    view: View
    address: int


class _On(NamedTuple):
    """Where a call runs."""

    library: Library
    stream: int


def _where(array: Any, what: str, library: Optional[Library], stream: Any) -> _On:
    adapter, library = adapter_of(array, what), library or library_of(array, what)
    return _On(library, adapter.stream(library.ordinal) if stream is None else stream_number(stream))


def _dense(array: Any, what: str, on: _On) -> _Matrix:
    address, key = look(array, what, on.stream)
    view = view_of(type(array), key, what)
    one = matrix(view, what)
    if one.entries is not None or one.by_columns:
        raise ValueError(f"{what} has strides {view.strides}; expected two dimensions, rows contiguous")
    c = _matrix(view.dtype, *view.shape)
    c.ld_dense = one.step if one.rows > 1 else 0
    return _Matrix(c, view, address)


def _matrix(dtype: str, rows: int, k: int) -> CSparseMatrix:
    if not isinstance(dtype, str) or dtype not in _ELEMENTS:
        raise ValueError(f"elements are {dtype}; expected one of {', '.join(_ELEMENTS)}")
    c = CSparseMatrix()
    _call("matrix_init", _byref(c), _ELEMENTS[dtype].encode(), whole(rows, "rows"), whole(k, "k"))
    return c


def _of_sparse(sparse: Sparse) -> CSparseMatrix:
    return _matrix(sparse.dtype, sparse.rows, sparse.k)


def _address(array: Any, what: str, on: _On) -> int:
    return look(array, what, on.stream)[0]


def _made(out: Any, what: str, shape: Tuple[int, ...], dtype: str, like: Any, on: _On) -> Tuple[Any, int]:
    """`out`, which must be so, packed and writable; None: an array of the library of `like`. And its address."""
    if out is None:
        out = adapter_of(like, "an array").empty(like, shape, dtype)
    address, key = look(out, what, on.stream)
    view = view_of(type(out), key, what)
    _check_packed(what, view, shape, dtype)
    if not view.writable:
        raise ValueError(f"{what} may not be written; expected memory to write to")
    return out, address


def _check_packed(what: str, view: View, shape: Tuple[int, ...], dtype: str) -> None:
    if tuple(view.shape) != shape or view.dtype != dtype:
        raise ValueError(f"{what} is {'x'.join(map(str, view.shape))} of {view.dtype}; expected {'x'.join(map(str, shape))} of {dtype}")
    if not is_packed(view.shape, view.strides):
        raise ValueError(f"{what} has strides {view.strides}; expected packed rows")


def prune(dense: Any, out: Any = None, *, by: str = "strips", stream: Any = None, library: Optional[Library] = None) -> Any:
    """A 2:4 sparse matrix of `dense`. by "strips": the 2 elements of largest magnitude are left of each 4 in a row (of f32, 1 of 2); of equal ones
    the first. "tiles": of each 4 x 4 (2 x 2) elements 2 (1) of each row and column are left, with the largest sum of magnitudes, so that the
    transpose is 2:4 sparse, too. out: its rows x k, packed, and may be `dense`; None: allocated by the library of `dense`."""
    if by not in _PRUNINGS:
        raise ValueError(f"by is {by!r}; expected {' or '.join(map(repr, _PRUNINGS))}")
    on = _where(dense, "dense", library, stream)
    matrix = _dense(dense, "dense", on)
    rows, k = matrix.view.shape
    out, to = _made(out, "out", (rows, k), matrix.view.dtype, dense, on)
    if rows * k == 0:
        return out
    if matrix.c.ld_dense not in (0, k):
        raise ValueError(f"dense has rows {matrix.c.ld_dense} apart; expected packed rows, {k}")
    _call(_PRUNINGS[by], on.library.handle, on.stream, _byref(matrix.c), matrix.address, to)
    return out


def faults(dense: Any, *, stream: Any = None, library: Optional[Library] = None) -> Tuple[int, int, int]:
    """How many groups have more elements other than 0 than are stored, and row and column of the first. Waits for the stream."""
    on = _where(dense, "dense", library, stream)
    matrix, fault = _dense(dense, "dense", on), CSparseFault()
    _call("check", on.library.handle, on.stream, _byref(matrix.c), matrix.address, _byref(fault))
    return fault.groups, fault.row, fault.column


def sizes(dtype: str, rows: int, k: int) -> Tuple[Tuple[int, int], int]:
    """Shape of the values of rows x k, and s32 elements of the metadata: what compress() takes as `out`."""
    return (rows, k // 2), _metadata_words(_matrix(dtype, rows, k))


def compress(dense: Any, out: Optional[Tuple[Any, Any]] = None, *, check: bool = True, stream: Any = None, library: Optional[Library] = None) -> Sparse:
    """What is stored of a matrix whose rows run along K: a left operand as it is, or a right one transposed, as the weight of a Linear layer is.
    Raises ValueError for one that is not 2:4, unless `check` is false: then the first two elements of a wrong group are stored.
    out: values and metadata as sizes() has them, packed; None: allocated by the library of `dense`."""
    on = _where(dense, "dense", library, stream)
    matrix = _dense(dense, "dense", on)
    rows, k = matrix.view.shape
    if check:
        groups, row, column = faults(dense, stream=on.stream, library=on.library)
        if groups:
            raise ValueError(f"dense is not 2:4 sparse in {groups} groups, the first at row {row}, column {column}; expected a matrix as prune() makes it")
    given = (None, None) if out is None else out
    values, to_values = _made(given[0], "values", (rows, k // 2), matrix.view.dtype, dense, on)
    metadata, to_metadata = _made(given[1], "metadata", (_metadata_words(matrix.c),), "s32", dense, on)
    if rows * k:
        _call("compress", on.library.handle, on.stream, _byref(matrix.c), matrix.address, to_values, to_metadata)
    return Sparse(values, metadata, rows, k, matrix.view.dtype)


def decompress(sparse: Sparse, out: Any = None, *, stream: Any = None, library: Optional[Library] = None) -> Any:
    """The dense matrix again. out: its rows x k, packed; None: allocated by the library of the values."""
    on = _where(sparse.values, "values", library, stream)
    c = _of_sparse(sparse)
    _check_lengths(sparse, c, on)
    out, to = _made(out, "out", sparse.shape, sparse.dtype, sparse.values, on)
    if sparse.rows * sparse.k:
        _call("decompress", on.library.handle, on.stream, _byref(c), _address(sparse.values, "values", on), _address(sparse.metadata, "metadata", on), to)
    return out


def check_metadata(sparse: Sparse, *, stream: Any = None, library: Optional[Library] = None) -> None:
    """Raises ValueError if places in the metadata do not ascend, or if they are too few. Waits for the stream."""
    on = _where(sparse.values, "values", library, stream)
    c, fault = _of_sparse(sparse), CSparseFault()
    _check_lengths(sparse, c, on)
    if sparse.rows * sparse.k == 0:
        return
    _call("check_metadata", on.library.handle, on.stream, _byref(c), _address(sparse.metadata, "metadata", on), _byref(fault))
    if fault.groups:
        raise ValueError(f"metadata is out of order in {fault.groups} groups, the first at row {fault.row}, column {fault.column}; expected ascending places")


def _check_lengths(sparse: Sparse, c: CSparseMatrix, on: _On) -> None:
    for what, array, shape, dtype in (("values", sparse.values, (sparse.rows, sparse.k // 2), sparse.dtype),
                                      ("metadata", sparse.metadata, (_metadata_words(c),), "s32")):
        _check_packed(what, view_of(type(array), look(array, what, on.stream)[1], what), shape, dtype)


def gemm(a: Any, b: Any, out: Any = None, *, alpha: Any = 1.0, beta: Any = 0.0, c: Any = None, bias: Any = None, activation: Optional[str] = None,
         scale_m: Any = None, scale_n: Any = None, compute: Optional[str] = None, out_dtype: Any = None, stream: Any = None,
         library: Optional[Library] = None) -> Any:
    """tilesmith.gemm with a Sparse a (m x k), or a Sparse b of n rows along K, which stands for its transpose: a b^T. The other is an array."""
    is_b = isinstance(b, Sparse)
    if is_b == isinstance(a, Sparse):
        raise TypeError("a and b are " + ("both" if is_b else "neither") + " Sparse; expected one of them, as compress() makes it")
    sparse, dense = (b, a) if is_b else (a, b)
    what = "a" if is_b else "b"
    on = _where(dense, what, library, stream)
    matrix = _of_sparse(sparse)
    _check_lengths(sparse, matrix, on)
    dense_at, dense_key = look(dense, what, on.stream)
    d_at, d_key = (0, None) if out is None else look(out, "out", on.stream)
    extra = Extra(out, d_at, on.stream, c, bias, scale_m, scale_n, None, alpha, beta)
    views = extra.views()
    if type(alpha) not in NUMBERS or type(beta) not in NUMBERS:
        raise TypeError("alpha or beta is an array; expected numbers with a Sparse operand")
    values_at, dense_view = _address(sparse.values, "values", on), view_of(type(dense), dense_key, what)
    as_dense = View(sparse.dtype, sparse.shape, (sparse.k, 1), dense_view.device)
    if is_b:
        as_dense = as_dense._replace(shape=(sparse.k, sparse.rows), strides=(1, sparse.k))
    if sparse.dtype == "f32" and compute not in (None, "tf32"):
        raise ValueError(f"compute is {compute!r}; expected tf32, as which a Sparse of f32 is multiplied")
    low_bits = values_at | dense_at | d_at | extra.c_address
    prepared = prepare(Layouts(
        a=dense_view if is_b else as_dense, b=as_dense if is_b else dense_view, out=None if out is None else view_of(type(out), d_key, "out"),
        activation=activation, compute="tf32" if sparse.dtype == "f32" else compute, out_dtype=out_dtype, reads_c=extra.reads_c, device_scalars=False,
        align_bytes=(16 | low_bits) & -(16 | low_bits), sparse="b" if is_b else "a", weights=None, **views))
    if out is None:
        out, d_at = allocate(dense, prepared)
    first, second = (dense_at, values_at) if is_b != prepared.swapped else (values_at, dense_at)
    operands, held = operands_of(prepared, extra, alpha, beta, first, second, d_at)
    operands[_abi.OPERANDS.index("metadata")] = _address(sparse.metadata, "metadata", on)
    _abi.check(_abi.load().tilesmith_gemm(on.library.handle, on.stream, prepared.address, _abi.run_bytes(operands)))
    return out


def linear(x: Any, weight: Sparse, bias: Any = None, *, activation: Optional[str] = None, out: Any = None, stream: Any = None,
           library: Optional[Library] = None) -> Any:
    """act(x weight^T + bias), as a Linear layer: x is m x k, weight n x k."""
    return gemm(x, weight, out, bias=bias, activation=activation, stream=stream, library=library)
