"""Products with weights: from arrays to a problem and its arguments."""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional

from . import _abi
from ._activations import activation_of
from ._arrays import adapter_of, look, stream_number, view_of
from ._defaults import library_of
from ._extra import bias_kind
from ._layout import matrix, shape_text, vector_length
from ._library import Library
from ._problem import Problem
from ._types import type_pair
from ._weights import Weights


class _Shape(NamedTuple):
    """Of which problems are kept."""

    library: int
    m: int
    lda: int
    dtype: str
    bias: Optional[str]
    activation: Optional[str]
    align_bytes: int
    weights: str
    n: int
    k: int
    experts: Optional[int]
    scale_m: Optional[str]


_problems: Dict[_Shape, Problem] = {}


class Call(NamedTuple):
    """A product with weights, before it launches. problem: one object for each shape, kept for good."""

    library: Library
    stream: int
    problem: Problem
    operands: List[int]  # in the order of _abi.OPERANDS
    out: Any


def linear(x: Any, weights: Weights, out: Any = None, *, offsets: Any = None, bias: Any = None, activation: Optional[str] = None, scale_m: Any = None,
           stream: Any = None, library: Optional[Library] = None) -> Any:
    """activation(x W^T + bias) into `out`, m x n, which is returned. x: m x k of f16 or bf16, contiguous rows, on the device of the weights.
    Or of e4m3 or s8, with weights packed for 8 bits (dtype="e4m3"): scale_m then has a scale of f32 for each row, and out is f16, bf16 or, of e4m3, f32, by default of
    the scales' type, bf16 if these are f32.

    offsets: of weights of experts, s32 on the device: where the rows of x of each expert end. Rows behind the last are not written.
    bias: n elements of out's type or f32, the same of all experts. activation as in tilesmith.gemm; of a gate out has n / 2 columns. The scales of the weights have out's
    type or are f32. The first call with such a shape chooses a kernel and may compile it."""
    call = call_of(x, weights, out, bias, activation, stream, library, offsets, scale_m)
    _abi.check(_abi.load().tilesmith_gemm(call.library.handle, call.stream, call.problem.address, _abi.run_bytes(call.operands)))
    return call.out


def call_of(x: Any, weights: Weights, out: Any, bias: Any, activation: Optional[str], stream: Any, library: Optional[Library],
            offsets: Any = None, scale_m: Any = None) -> Call:
    """What linear() launches. TypeError or ValueError in one line if it is none."""
    of = weights.key
    if library is None:
        library = library_of(x, "x")
    adapter = adapter_of(x, "x")
    number = adapter.stream(library.ordinal) if stream is None else stream_number(stream)
    address, key = look(x, "x", number)
    view = view_of(type(x), key, "x")
    rows = matrix(view, "x")
    if rows.by_columns or rows.entries is not None or rows.columns != weights.k:
        raise ValueError(f"x is {shape_text(view.shape)}; expected contiguous rows of {weights.k} elements")
    dtype = of.output(view.dtype, None, "x") if out is None or of.a_bits != 8 else ""
    columns = activation_of(activation).columns(weights.n)
    if out is None:
        out = adapter.empty(x, (rows.rows, columns), dtype)
    to, out_key = look(out, "out", number)
    out_view = view_of(type(out), out_key, "out")
    d = matrix(out_view, "out")
    dtype = dtype or of.output(view.dtype, out_view.dtype, "x")
    if out_view.shape != (rows.rows, columns) or out_view.dtype != dtype or d.by_columns or not out_view.writable:
        raise ValueError(f"out is {shape_text(out_view.shape)} of {out_view.dtype}; expected {rows.rows}x{columns} of {dtype} with contiguous rows")
    ends_at = _ends(offsets, weights, number)
    bias_at, kind = bias_kind(bias, weights.n, dtype, number)
    scale_at = _row_scales(scale_m, rows.rows, number)
    low = 16 | address | to | weights.addresses[0] | weights.addresses[1] | (weights.addresses[2] or 0)
    pair = type_pair(view.dtype, view.dtype, dtype, None)
    shape = _Shape(id(library), rows.rows, rows.step, f"{pair} {d.step}", kind, activation, low & -low, of.text, of.n, of.k, of.experts,
                   None if scale_at is None else "one" if rows.rows == 1 else "each")
    problem = _problems.get(shape)
    if problem is None:
        problem = _problems[shape] = Problem(pair, "NT", rows.rows, of.n, of.k, lda=rows.step, ldc=d.step, bias=kind, activation=activation,
                                             scale_m=shape.scale_m, align_bytes=low & -low, weights=of.text, groups=of.experts)
    codes, scales, zeros = weights.addresses
    operands = [address, codes, 0, to, scale_at or 0, 0, bias_at or 0, ends_at or 0, 0, 0, 0, scales, zeros or 0]
    return Call(library, number, problem, operands, out)


def _row_scales(scales: Any, rows: int, stream: int) -> Optional[int]:
    if scales is None:
        return None
    address, key = look(scales, "scale_m", stream)
    view = view_of(type(scales), key, "scale_m")
    if view.dtype != "f32" or vector_length(view, "scale_m") != rows:
        raise ValueError(f"scale_m is {shape_text(view.shape)} of {view.dtype}; expected {rows} of f32, one for each row of x")
    return address


def _ends(offsets: Any, weights: Weights, stream: int) -> Optional[int]:
    """The address of the ends of the experts' rows."""
    if (offsets is None) != (weights.experts is None):
        raise ValueError("offsets are given; expected weights of experts" if offsets is not None else
                         f"weights are of {weights.experts} experts; expected offsets, where the rows of each end")
    if offsets is None:
        return None
    address, key = look(offsets, "offsets", stream)
    view = view_of(type(offsets), key, "offsets")
    if view.dtype != "s32" or vector_length(view, "offsets") != weights.experts:
        raise ValueError(f"offsets is {shape_text(view.shape)} of {view.dtype}; expected {weights.experts} of s32, where the rows of each expert end")
    return address
