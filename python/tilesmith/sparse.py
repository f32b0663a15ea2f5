"""2:4 sparse matrices: of each 4 elements in a row 2 are stored, of each 2 of f32 1. They multiply in half the instructions, of half the bytes.

    weight = tilesmith.sparse.compress(tilesmith.sparse.prune(dense))      # n x k on "cuda"
    y = tilesmith.sparse.linear(x, weight, bias=bias, activation="gelu")   # x @ weight^T
    y = tilesmith.sparse.gemm(weight, b)                                   # weight @ b

docs/python.md. Arrays are PyTorch's or CuPy's, which allocate what is made here.
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, Structure, c_char, c_char_p, c_int32, c_int64, c_uint64, c_void_p
from typing import Any, NamedTuple, Optional, Tuple

from . import _abi
from ._arrays import View, adapter_of, adapter_of_type
from ._defaults import library_of
from ._extra import NUMBERS, Extra, extra_args
from ._library import Library, allocate
from ._prepare import Layouts, prepare

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


def _dense(array: Any, what: str) -> _Matrix:
    address, key = adapter_of(array, what).look(array)
    view = adapter_of(array, what).describe(key)
    if len(view.shape) != 2 or view.strides[1] not in (1, 0) and view.shape[1] > 1:
        raise ValueError(f"{what} has strides {view.strides}; expected two dimensions, rows contiguous")
    c = _matrix(view.dtype, *view.shape)
    c.ld_dense = max(view.strides[0], view.shape[1]) if view.shape[0] > 1 else 0
    return _Matrix(c, view, address)


def _matrix(dtype: str, rows: int, k: int) -> CSparseMatrix:
    if dtype not in _ELEMENTS:
        raise ValueError(f"elements are {dtype}; expected one of {', '.join(_ELEMENTS)}")
    c = CSparseMatrix()
    _call("matrix_init", _byref(c), _ELEMENTS[dtype].encode(), rows, k)
    return c


def _of_sparse(sparse: Sparse) -> CSparseMatrix:
    return _matrix(sparse.dtype, sparse.rows, sparse.k)


def _address(array: Any) -> int:
    return adapter_of(array, "an array").look(array)[0]


def _stream(array: Any, library: Library) -> int:
    return adapter_of_type(type(array)).stream(library.ordinal)


def prune(dense: Any, *, by: str = "strips", library: Optional[Library] = None) -> Any:
    """A copy that is 2:4 sparse. by "strips": the 2 elements of largest magnitude are left of each 4 in a row (of f32, 1 of 2); of equal ones the
    first. "tiles": of each 4 x 4 (2 x 2) elements 2 (1) of each row and column are left, with the largest sum of magnitudes, so that the transpose
    is 2:4 sparse, too."""
    if by not in _PRUNINGS:
        raise ValueError(f"by is {by!r}; expected {' or '.join(map(repr, _PRUNINGS))}")
    library = library or library_of(dense)
    matrix = _dense(dense, "dense")
    out = adapter_of_type(type(dense)).empty(dense, matrix.view.shape, matrix.view.dtype)
    if matrix.view.shape[0] * matrix.view.shape[1] == 0:
        return out
    packed = matrix.c.ld_dense in (0, matrix.view.shape[1])
    if not packed:
        raise ValueError(f"dense has rows {matrix.c.ld_dense} apart; expected packed rows, {matrix.view.shape[1]}")
    _call(_PRUNINGS[by], library.handle, _stream(dense, library), _byref(matrix.c), matrix.address, _address(out))
    return out


def faults(dense: Any, *, library: Optional[Library] = None) -> Tuple[int, int, int]:
    """How many groups have more elements other than 0 than are stored, and row and column of the first. Waits for the stream."""
    library = library or library_of(dense)
    matrix, fault = _dense(dense, "dense"), CSparseFault()
    _call("check", library.handle, _stream(dense, library), _byref(matrix.c), matrix.address, _byref(fault))
    return fault.groups, fault.row, fault.column


def compress(dense: Any, *, check: bool = True, library: Optional[Library] = None) -> Sparse:
    """What is stored of a matrix whose rows run along K: a left operand as it is, or a right one transposed, as the weight of a Linear layer is.
    Raises ValueError for one that is not 2:4, unless `check` is false: then the first two elements of a wrong group are stored."""
    library = library or library_of(dense)
    matrix = _dense(dense, "dense")
    rows, k = matrix.view.shape
    if check:
        groups, row, column = faults(dense, library=library)
        if groups:
            raise ValueError(f"dense is not 2:4 sparse in {groups} groups, the first at row {row}, column {column}; expected a matrix as prune() makes it")
    adapter = adapter_of_type(type(dense))
    values = adapter.empty(dense, (rows, k // 2), matrix.view.dtype)
    metadata = adapter.empty(dense, (_metadata_words(matrix.c),), "s32")
    if rows * k:
        _call("compress", library.handle, _stream(dense, library), _byref(matrix.c), matrix.address, _address(values),
              _address(metadata))
    return Sparse(values, metadata, rows, k, matrix.view.dtype)


def decompress(sparse: Sparse, *, library: Optional[Library] = None) -> Any:
    """The dense matrix again."""
    library = library or library_of(sparse.values)
    c = _of_sparse(sparse)
    out = adapter_of(sparse.values, "values").empty(sparse.values, sparse.shape, sparse.dtype)
    if sparse.rows * sparse.k:
        _call("decompress", library.handle, _stream(sparse.values, library), _byref(c), _address(sparse.values),
              _address(sparse.metadata), _address(out))
    return out


def check_metadata(sparse: Sparse, *, library: Optional[Library] = None) -> None:
    """Raises ValueError if places in the metadata do not ascend, or if they are too few. Waits for the stream."""
    library = library or library_of(sparse.values)
    c, fault = _of_sparse(sparse), CSparseFault()
    _check_lengths(sparse, c)
    if sparse.rows * sparse.k == 0:
        return
    _call("check_metadata", library.handle, _stream(sparse.values, library), _byref(c), _address(sparse.metadata), _byref(fault))
    if fault.groups:
        raise ValueError(f"metadata is out of order in {fault.groups} groups, the first at row {fault.row}, column {fault.column}; expected ascending places")


def _check_lengths(sparse: Sparse, c: CSparseMatrix) -> None:
    for what, array, shape, dtype in (("values", sparse.values, (sparse.rows, sparse.k // 2), sparse.dtype),
                                      ("metadata", sparse.metadata, (_metadata_words(c),), "s32")):
        adapter = adapter_of(array, what)
        view = adapter.describe(adapter.look(array)[1])
        if tuple(view.shape) != shape or view.dtype != dtype:
            raise ValueError(f"{what} is {'x'.join(map(str, view.shape))} of {view.dtype}; expected {'x'.join(map(str, shape))} of {dtype}")
        if view.strides[-1] != 1 and shape[-1] > 1 or len(shape) == 2 and shape[0] > 1 and view.strides[0] != shape[1]:
            raise ValueError(f"{what} has strides {view.strides}; expected packed rows")


def gemm(a: Any, b: Any, out: Any = None, *, alpha: Any = 1.0, beta: Any = 0.0, c: Any = None, bias: Any = None, activation: Optional[str] = None,
         scale_m: Any = None, scale_n: Any = None, compute: Optional[str] = None, out_dtype: Any = None, library: Optional[Library] = None) -> Any:
    """tilesmith.gemm with a Sparse a (m x k), or a Sparse b of n rows along K, which stands for its transpose: a b^T. The other is an array."""
    is_b = isinstance(b, Sparse)
    if is_b == isinstance(a, Sparse):
        raise TypeError("a and b are " + ("both" if is_b else "neither") + " Sparse; expected one of them, as compress() makes it")
    sparse, dense = (b, a) if is_b else (a, b)
    library = library or library_of(dense)
    matrix = _of_sparse(sparse)
    _check_lengths(sparse, matrix)
    adapter = adapter_of(dense, "a" if is_b else "b")
    dense_at, dense_key = adapter.look(dense)
    d_at, d_key = (0, None) if out is None else adapter_of(out, "out").look(out)
    extra = Extra(out, d_at, None, c, bias, scale_m, scale_n, None, alpha, beta)
    views = extra.views()
    if type(alpha) not in NUMBERS or type(beta) not in NUMBERS:
        raise TypeError("alpha or beta is an array; expected numbers with a Sparse operand")
    values_at, dense_view = _address(sparse.values), adapter.describe(dense_key)
    as_dense = View(sparse.dtype, sparse.shape, (sparse.k, 1), dense_view.device)
    if is_b:
        as_dense = as_dense._replace(shape=(sparse.k, sparse.rows), strides=(1, sparse.k))
    if sparse.dtype == "f32" and compute not in (None, "tf32"):
        raise ValueError(f"compute is {compute!r}; expected tf32, as which a Sparse of f32 is multiplied")
    low_bits = values_at | dense_at | d_at | extra.c_address
    prepared = prepare(Layouts(
        a=dense_view if is_b else as_dense, b=as_dense if is_b else dense_view, out=None if out is None else adapter_of(out, "out").describe(d_key),
        activation=activation, compute="tf32" if sparse.dtype == "f32" else compute, out_dtype=out_dtype, reads_c=extra.reads_c, device_scalars=False,
        align_bytes=(16 | low_bits) & -(16 | low_bits), **views))
    problem = prepared.problem
    problem.c.sparsity = 2 if is_b != prepared.swapped else 1
    if problem.c.sparsity == 1:
        problem.c.lda = 0
    else:
        problem.c.ldb = 0
    if out is None:
        out, d_at = allocate(dense, prepared)
    first, second = (dense_at, values_at) if is_b != prepared.swapped else (values_at, dense_at)
    args = extra_args(prepared, extra, alpha, beta, first, second, d_at)
    args.metadata = _address(sparse.metadata)
    _abi.check(_abi.load().tilesmith_gemm_args(library.handle, _stream(dense, library), prepared.address, _byref(args)))
    return out


def linear(x: Any, weight: Sparse, bias: Any = None, *, activation: Optional[str] = None, out: Any = None, library: Optional[Library] = None) -> Any:
    """act(x weight^T + bias), as a Linear layer: x is m x k, weight n x k."""
    return gemm(x, weight, out, bias=bias, activation=activation, library=library)
