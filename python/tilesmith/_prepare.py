"""One product of arrays, checked and turned into a problem of tilesmith.h. Made once for each set of layouts, then kept."""

from __future__ import annotations

import ctypes
from typing import Any, Dict, NamedTuple, Optional, Tuple

from . import _abi
from ._activations import activation_of
from ._arrays import View, elements
from ._layout import Matrix, is_packed, matrix, readings, shape_text, vector_length
from ._problem import Problem
from ._types import PACKED, scale_type, type_name, type_pair, usual_output, whole
from ._weights import Key

_SCALARS: Dict[str, Any] = {"f32": ctypes.c_float, "f64": ctypes.c_double, "s32": ctypes.c_int32}


class Layouts(NamedTuple):
    """All that decides the problem. out is None where it is to be allocated, packed; c where it is not read or is out itself."""

    a: View
    b: View
    out: Optional[View]
    c: Optional[View]
    bias: Optional[View]
    scale_m: Optional[View]
    scale_n: Optional[View]
    offsets: Optional[View]
    activation: Optional[str]
    compute: Optional[str]
    out_dtype: Any
    reads_c: bool
    device_scalars: bool
    align_bytes: int
    sparse: Optional[str] = None  # "a" or "b": that operand is stored by half, packed along k
    weights: Optional[Key] = None  # of b, where it is Weights


def view_of_weights(weights: Key, dtype: str) -> View:
    """b as a product sees it: k x n with contiguous columns, of a's type."""
    n, k = weights.n, weights.k
    if weights.experts is None:
        return View(dtype, (k, n), (1, k), None)
    return View(dtype, (weights.experts, k, n), (n * k, 1, k), None)


class Prepared:
    """problem: what the library gets. swapped: the output's columns are contiguous, so its transpose B^T A^T is computed."""

    __slots__ = ("problem", "address", "swapped", "out_shape", "out_dtype", "scalar")

    def __init__(self, problem: Problem, swapped: bool, out_shape: Tuple[int, ...], out_dtype: str) -> None:
        self.problem, self.address, self.swapped = problem, problem.address, swapped
        self.out_shape, self.out_dtype = out_shape, out_dtype
        self.scalar: Any = _SCALARS[scale_type(problem.type)]

    def scalar_of(self, value: Any) -> Any:
        """alpha or beta as the library reads it: a ctypes object to be held until the call returns."""
        if self.scalar is ctypes.c_int32:
            return self.scalar(whole(value, "alpha or beta", 32))
        try:
            return self.scalar(value)
        except TypeError:
            raise TypeError(f"alpha or beta is {value!r}; expected a number for {self.problem.type}") from None


def prepare(on: Layouts) -> Prepared:
    """Raises TypeError or ValueError in one line that says what was expected."""
    if on.weights is not None:
        if on.compute is not None:
            raise ValueError(f"compute is {on.compute!r}; expected None with weights")
        if on.offsets is None and on.weights.experts is not None:
            raise ValueError(f"weights are of {on.weights.experts} experts; expected offsets, where the rows of each end")
    element, of_byte = on.compute or "", PACKED.get(on.compute or "", 1)
    if of_byte > 1:
        for what, view in (("a", on.a), ("b", on.b)):
            if view.dtype != "u8":
                raise ValueError(f"{what} is {view.dtype}; expected u8 with compute={element!r}, {of_byte} elements a byte")
        on = on._replace(a=on.a._replace(dtype=element), b=on.b._replace(dtype=element), compute=None)
    activation = activation_of(on.activation)
    gated = activation.is_gate
    a, b = _operands(on, of_byte)
    if a.columns != b.rows:
        raise ValueError(f"a is {a.rows}x{a.columns} and b {b.rows}x{b.columns}; expected as many columns of a as rows of b")
    m, n, k = a.rows, b.columns, a.columns
    if gated and n % 2:
        raise ValueError(f"b has {n} columns; expected an even number for {on.activation}")
    if gated and on.reads_c:
        raise ValueError(f"beta is not 0; expected 0 with {on.activation}")
    count = _groups(on, on.offsets, a, b) if on.offsets is not None else _entries(a, b, on)
    columns = activation.columns(n)
    batched = count is not None and on.offsets is None
    out_shape: Tuple[int, ...] = (m, columns) if count is None or not batched else (count, m, columns)
    out_dtype = _output_type(on)
    if on.weights is not None:
        on.weights.output(on.a.dtype, out_dtype, "a")
    pair = type_pair(on.a.dtype, on.b.dtype, out_dtype, on.compute)
    d = _output(on, out_shape)
    swapped = d is not None and d.by_columns
    if swapped and (gated or on.offsets is not None or on.weights is not None):
        why = "weights" if on.weights is not None else "offsets" if on.offsets is not None else on.activation
        raise ValueError(f"out has contiguous columns; expected contiguous rows with {why}")
    if on.c is not None:
        _check_c(on, on.c, d, out_shape, out_dtype)

    bias = _bias(on, m, n, out_dtype, swapped)
    scale_m, scale_n = _scalings(on, m, n, k)
    epilogue = bias or scale_m or scale_n or on.activation
    first, second = (b, a) if swapped else (a, b)
    if swapped:
        scale_m, scale_n = scale_n, scale_m
    fields: Dict[str, Any] = {"sparsity": {"a": "b", "b": "a"}.get(on.sparse or "") if swapped else on.sparse}
    if batched and count != 1:
        fields.update(batch=count, stride_a=_distance(first), stride_b=_distance(second), stride_c=_distance(d) if d else _abi.PACKED)
    elif on.offsets is not None:
        fields.update(groups=count, stride_b=_distance(second))
    if on.weights is not None:
        if batched:
            raise ValueError(f"a is {shape_text(on.a.shape)}; expected 2 dimensions with weights")
        fields.update(weights=on.weights.text)
    problem = Problem(
        pair, _letter(first, swapped) + _letter(second, swapped), n if swapped else m, m if swapped else n, k,
        lda=_step(first), ldb=_step(second), ldc=_step(d) if d else 0, align_bytes=on.align_bytes, beta=on.reads_c, bias=bias,
        activation=on.activation, scale_m=scale_m, scale_n=scale_n, c_is_apart=on.c is not None and not epilogue,
        device_scalars=on.device_scalars, **fields)
    return Prepared(problem, swapped, out_shape, out_dtype)


def _operands(on: Layouts, of_byte: int) -> Tuple[Matrix, Matrix]:
    """a and b in elements, of which a byte has `of_byte`, along the dimension that is contiguous. Of one row or column of bytes it may be either: the one
    by which a and b have one k, and by which out is theirs; else k."""
    first, second = readings(on.a, "a"), readings(on.b, "b")
    if on.sparse == "b" or on.weights is not None:
        return first[0], second[-1]
    if of_byte == 1:
        return first[0], second[0]
    pairs = [(_in_elements(a, of_byte), _in_elements(b, of_byte)) for a in first for b in reversed(second)]
    shape = None if on.out is None else on.out.shape[-2:]
    return max(pairs, key=lambda pair: (pair[0].columns == pair[1].rows, (pair[0].rows, pair[1].columns) == shape))


def _in_elements(of: Matrix, of_byte: int) -> Matrix:
    rows, columns = (of.rows * of_byte, of.columns) if of.by_columns else (of.rows, of.columns * of_byte)
    return of._replace(rows=rows, columns=columns, step=of.step * of_byte, distance=of.distance * of_byte)


def _letter(of: Matrix, swapped: bool) -> str:
    return "T" if of.by_columns != swapped else "N"


def _step(of: Matrix) -> int:
    """0 where rows are packed, as a problem's text has it."""
    return 0 if of.step == max(of.rows if of.by_columns else of.columns, 1) else of.step


def _distance(of: Matrix) -> int:
    if of.entries is None or of.entries == 1:
        return 0 if of.entries is None else _abi.PACKED
    stored_rows = of.columns if of.by_columns else of.rows
    return _abi.PACKED if of.distance == stored_rows * of.step else of.distance


def _entries(a: Matrix, b: Matrix, on: Layouts) -> Optional[int]:
    if a.entries is not None and b.entries is not None and a.entries != b.entries:
        raise ValueError(f"a is {shape_text(on.a.shape)} and b {shape_text(on.b.shape)}; expected as many entries of both, or one with 2 dimensions")
    return b.entries if a.entries is None else a.entries


def _groups(on: Layouts, offsets: View, a: Matrix, b: Matrix) -> int:
    if a.entries is not None or b.entries is None:
        raise ValueError(f"a is {shape_text(on.a.shape)} and b {shape_text(on.b.shape)}; expected 2 and 3 dimensions with offsets: rows, and a b for each group")
    if a.by_columns:
        raise ValueError("a has contiguous columns; expected contiguous rows with offsets")
    if offsets.dtype != "s32" or vector_length(offsets, "offsets") != b.entries:
        raise ValueError(f"offsets is {shape_text(offsets.shape)} of {offsets.dtype}; expected {b.entries} of s32, the ends of the groups of b")
    return b.entries


def _output_type(on: Layouts) -> str:
    given = None
    if on.out_dtype is not None:
        given = type_name(on.out_dtype)
        if given is None:
            raise TypeError(f"out_dtype is {on.out_dtype!r}; expected a dtype, or its name such as \"f32\"")
    if on.out is not None:
        if given not in (None, on.out.dtype):
            raise ValueError(f"out is {on.out.dtype} and out_dtype {given}; expected one of them, or the same")
        return on.out.dtype
    if on.weights is not None:
        return given or on.weights.output(on.a.dtype, None, "a")
    scaled = on.compute is None and (on.scale_m is not None or on.scale_n is not None)
    return given or usual_output(on.a.dtype, scaled)


def _output(on: Layouts, shape: Tuple[int, ...]) -> Optional[Matrix]:
    if on.out is None:
        return None
    if on.out.shape != shape:
        raise ValueError(f"out is {shape_text(on.out.shape)}; expected {shape_text(shape)}")
    if not on.out.writable:
        raise ValueError("out is read-only; expected an array that may be written")
    return matrix(on.out, "out")


def _check_c(on: Layouts, given: View, d: Optional[Matrix], shape: Tuple[int, ...], dtype: str) -> None:
    if given.shape != shape or given.dtype != dtype:
        raise ValueError(f"c is {shape_text(given.shape)} of {given.dtype}; expected {shape_text(shape)} of {dtype}, as out")
    c = matrix(given, "c")
    same = (not c.by_columns and not _step(c)) if d is None else (c.by_columns, c.step) == (d.by_columns, d.step)
    if same and c.entries not in (None, 1):
        same = _distance(c) == (_abi.PACKED if d is None else _distance(d))
    if not same:
        raise ValueError(f"c has strides {given.strides}; expected those of out, {on.out.strides if on.out else 'packed rows'}")


def _bias(on: Layouts, m: int, n: int, out_dtype: str, swapped: bool) -> Optional[str]:
    if on.bias is None:
        return None
    length = vector_length(on.bias, "bias")
    # A 1x1 matrix is one element a column if there is one column, else one a row.
    is_column = len(on.bias.shape) >= 2 and (on.bias.shape[-2] != 1 or (length == 1 and n != 1))
    if length != (m if is_column else n) or any(extent != 1 for extent in on.bias.shape[:-2]):
        raise ValueError(f"bias is {shape_text(on.bias.shape)}; expected {n} elements, one a column of the product, or {m}x1, one a row")
    if on.bias.dtype not in (out_dtype, "f32"):
        raise ValueError(f"bias is {on.bias.dtype}; expected {out_dtype}, as out{'' if out_dtype == 'f32' else ', or f32'}")
    return ("m" if is_column != swapped else "n") + ("" if on.bias.dtype == out_dtype else "_f32")


SCALE_BLOCK = 128  # rows (columns) and elements of K
_BY_BLOCK = ("1x128", "128x128")


def _scalings(on: Layouts, m: int, n: int, k: int) -> Tuple[Optional[str], Optional[str]]:
    """How a and b are scaled. Both have scales of blocks or neither, so beside scales of blocks a vector is a row or column of them."""
    scale_m, scale_n = _scaling(on.scale_m, m, k, "scale_m", "a row"), _scaling(on.scale_n, n, k, "scale_n", "a column")
    if scale_m in _BY_BLOCK and scale_n in ("one", "each"):
        scale_n = _scaling(on.scale_n, n, k, "scale_n", "a column", is_by_block=True)
    elif scale_n in _BY_BLOCK and scale_m in ("one", "each"):
        scale_m = _scaling(on.scale_m, m, k, "scale_m", "a row", is_by_block=True)
    return scale_m, scale_n


def _scaling(view: Optional[View], length: int, k: int, what: str, each: str, is_by_block: bool = False) -> Optional[str]:
    if view is None:
        return None
    if view.dtype != "f32":
        raise ValueError(f"{what} is {view.dtype}; expected f32")
    if elements(view) == 1 and not is_by_block:
        return "one"
    if not is_by_block and sum(extent != 1 for extent in view.shape) <= 1 and vector_length(view, what) == length:
        return "each"
    blocks, shape, strides = -(-k // SCALE_BLOCK), view.shape, view.strides
    by_rows = shape[:-2] + (shape[-1], shape[-2]) if len(shape) > 1 else shape  # as it lies, where its columns are contiguous
    if shape[-2:] == (blocks, length) and is_packed(shape, strides):
        return "1x128"
    if shape[-2:] == (length, blocks) and is_packed(by_rows, strides[:-2] + (strides[-1], strides[-2])):
        return "1x128"
    if shape[-2:] == (-(-length // SCALE_BLOCK), blocks) and is_packed(shape, strides):
        return "128x128"
    others = "" if is_by_block else f"one element, or {length}, one for {each}, or "
    raise ValueError(f"{what} is {shape_text(shape)}; expected {others}packed scales of blocks, {blocks}x{length} or {-(-length // SCALE_BLOCK)}x{blocks}"
                     f"{', as of the other operand' if is_by_block else ''}")
