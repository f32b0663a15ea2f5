"""Weights in 4 or 8 bits: what GPTQ, AWQ, GGUF, MXFP4, bitsandbytes and others store, in the layout that our kernels read, and products with them.

    w = tilesmith.weights.from_awq(qweight, qzeros, scales)        # once, when a model is loaded
    d = tilesmith.weights.linear(x, w, bias=bias)                  # x: m x k of f16 or bf16; d: m x n

    w = tilesmith.weights.from_awq(..., dtype="e4m3")              # or "s8", the same: for activations in 8 bits
    q, rows = tilesmith.quantise(x, "e4m3")                        # or "s8"
    d = tilesmith.gemm(q, w, scale_m=rows)

The arrays are what tilesmith.gemm takes, on a CUDA device, where they are repacked by a kernel; or in host memory (NumPy, PyTorch), where they
are repacked by the CPU. PyTorch and CuPy allocate what is made; of others (JAX, __cuda_array_interface__, DLPack) give `out`. W is n x k, a row for
each output: w = scale * (element - zero), with a scale for each row, or for each `group` columns.

Arrays with a dimension before these two are those of the experts of a mixture, whose weights lie one behind the other:
    d = tilesmith.weights.linear(x, w, offsets=ends)               # rows of x up to ends[0] by the first, up to ends[1] by the second, ...
"""

from __future__ import annotations

import ctypes
import math
from typing import Any, Dict, NamedTuple, Optional, Tuple

from . import _abi
from ._arrays import adapter_of, look, stream_number
from ._defaults import library_of
from ._errors import Error
from ._given import Given, Out, look_at, memory_for
from ._library import Library
from ._types import encoded, type_name, whole
from ._weighted import linear
from ._weights import A_OF_BYTES, K_QUANTS, Weights
from ._weights_abi import CSizes, CSource, CWeights, load

__all__ = ["Weights", "from_awq", "from_bnb_nf4", "from_gguf", "from_gptq", "from_mxfp4", "linear", "pack", "sizes"]

_SCALES = ("f16", "bf16", "f32")
_BYTES, _NIBBLES, _GPTQ, _GPTQ_V2, _AWQ, _Q4_0, _Q8_0, _MXFP4, _BNB_NF4, _Q4_K, _Q6_K = range(11)
# Of GGUF's kinds: the format, the type that it makes, and columns and bytes of a block.
_GGUF = {"Q4_0": (_Q4_0, "s4", 32, 18), "Q8_0": (_Q8_0, "s8", 32, 34), "Q4_K": (_Q4_K, "q4_k", 256, 144),
         "Q6_K": (_Q6_K, "q6_k", 256, 210)}


def sizes(n: int, k: int, type: str, group: Optional[int] = None, zeros: bool = False, dtype: str = "f16",
          scales_dtype: Optional[str] = None) -> Tuple[int, Tuple[int, int]]:
    """Bytes (u8) of the codes of such weights, and the shape of scales and zeros, of `dtype` (scales_dtype): what pack() and others take as `out`.
    Of "q4_k", with group=32 and zeros=True, scales are s16, and zeros have k / 256 rows of s32. Of "q6_k", with group=16, scales are s32, and zeros s16."""
    made, size = _made(type, n, k, 0 if group is None else group, *_types(dtype, scales_dtype, "f16"), zeros)
    columns = K_QUANTS[type].columns if type in K_QUANTS else made.group
    return size.codes, (made.k // columns if columns else 1, made.n)


def _types(dtype: Any, scales_dtype: Any, usual: str) -> Tuple[str, int]:
    """Of scales, and the bits of A's elements."""
    name = usual if dtype is None else type_name(dtype) or encoded(dtype, "dtype", "f16").decode()
    if name not in A_OF_BYTES:
        if scales_dtype is not None:
            raise ValueError(f"scales_dtype is {scales_dtype!r}; expected it with dtype='e4m3' or 's8' alone: otherwise dtype is that of the scales")
        return name, 16
    return usual if scales_dtype is None else type_name(scales_dtype) or encoded(scales_dtype, "scales_dtype", "bf16").decode(), 8


def _made(type: str, n: int, k: int, group: int, scale_type: str, a_bits: int, zeros: bool, experts: int = 0) -> Tuple[CWeights, CSizes]:
    """What is to be made, checked, and its bytes."""
    lib, made, size = load(), CWeights(), CSizes()
    _abi.check(lib.tilesmith_weights_init(ctypes.byref(made), encoded(type, "type", "s4"), whole(n, "n"), whole(k, "k"), whole(group, "group"),
                                          scale_type.encode(), bool(zeros)))
    made.experts, made.a_bits = experts, a_bits
    _abi.check(lib.tilesmith_weights_bytes(ctypes.byref(made), ctypes.byref(size)))
    return made, size


def pack(codes: Any, scales: Any, zeros: Any = None, *, type: str, k: Optional[int] = None, dtype: Optional[str] = None,
         scales_dtype: Optional[str] = None, out: Any = None, stream: Any = None, library: Optional[Library] = None) -> Weights:
    """Of codes one a byte, n x k: elements where they are int8 (s4, s8) or float8_e4m3fn, codes where they are uint8 (u4; s4 plus 8; s8 plus 128;
    bits of e4m3 and e2m1; places in NF4's table). Codes beyond 4 bits are refused, on a device only without `stream`. With `k` given they are 4 bits each, n x (k + 1) / 2 bytes, the lower column in the lower bits.

    type: "s4", "u4", "s8", "e4m3", "e2m1", "nf4" (the last two without zeros). scales: one a row (n, or n x 1), groups x n, or n x groups; zeros
    alike. dtype: of scales and zeros as they are kept, "f16", "bf16" or "f32"; default: as scales are. Or "e4m3" or "s8":
    for an A of 8 bits, which may have weights of s4, u4 and e2m1. Both make the same, for either A. Then scales_dtype is that of scales and zeros, by default as scales are. out: codes, scales and, where there are some,
    zeros to write to, as sizes() has them; None: allocated by the library of `codes`, which PyTorch, CuPy and host memory can."""
    given = look_at(codes, "codes", ("s8", "u8", "e4m3"))
    nibbles = k is not None
    if nibbles and given.dtype not in ("s8", "u8"):
        raise ValueError(f"codes is of {given.dtype}; expected s8 or u8, two codes a byte")
    if nibbles:
        given = given._replace(dtype="s4" if given.dtype == "s8" else "u4")
    elif type in ("s4", "u4", "e2m1", "nf4") and given.dtype in ("s8", "u8") and (given.on_host or stream is None):  # on another stream they may not be there yet
        _check_range(given, type)
    n, columns = given.rows, given.columns if k is None else whole(k, "k")
    scale = _of_experts(look_at(scales, "scales", _SCALES), given)
    groups = scale.rows if scale.columns == n else scale.columns
    if 1 in (scale.rows, scale.columns) and scale.rows * scale.columns == n:
        scale, groups = scale._replace(rows=1, columns=n), 1
    zero = None if zeros is None else _of_experts(look_at(zeros, "zeros", (*_SCALES, "s8", "u8", "s32")), given)
    if zero is not None and groups == 1 and zero.rows * zero.columns == n:
        zero = zero._replace(rows=1, columns=n)
    return _repack(_NIBBLES if nibbles else _BYTES, type, n, columns, groups, given, scale, zero, None, dtype, scales_dtype, zero is not None, out, stream,
                   library)


def _check_range(codes: Given, type: str) -> None:
    """Of 4 bits, one a byte: above them nothing is kept. An array on a device is asked itself, if it has min() and max()."""
    low, high = (-8, 7) if codes.dtype == "s8" else (0, 15)
    if hasattr(codes.array, "min") and 0 not in codes.shape:
        ends = [int(codes.array.min()), int(codes.array.max())]
    else:
        left = ctypes.string_at(codes.address, math.prod(codes.shape)) if codes.on_host else b""
        ends = [byte - 256 if low and byte > 127 else byte for byte in left.translate(None, bytes(code & 255 for code in range(low, high + 1)))[:1]]
    if not all(low <= end <= high for end in ends):
        raise ValueError(f"codes of {codes.dtype} go from {min(ends)} to {max(ends)}; expected {low} to {high} for {type}")


def from_gptq(qweight: Any, qzeros: Any, scales: Any, g_idx: Any = None, *, bits: int = 4, v2: bool = False, dtype: Optional[str] = None,
              scales_dtype: Optional[str] = None, out: Any = None, stream: Any = None, library: Optional[Library] = None) -> Weights:
    """Of a GPTQ layer: qweight k / 8 x n of int32 (of 8 bits k / 4), qzeros groups x n / 8, scales groups x n. v2: zeros are stored as they are,
    not 1 lower. Symmetric where all zeros are 8 (128), or qzeros is None: then without zeros. A g_idx in another order than that of the groups
    (act-order) is refused."""
    if whole(bits, "bits") not in (4, 8):
        raise ValueError(f"bits is {bits}; expected 4 or 8")
    codes, scale = look_at(qweight, "qweight", ("s32",)), look_at(scales, "scales", _SCALES)
    zero = None if qzeros is None else look_at(qzeros, "qzeros", ("s32",))
    order = None if g_idx is None else look_at(g_idx, "g_idx", ("s32",))
    where = (_GPTQ_V2 if v2 else _GPTQ, codes.columns, codes.rows * 32 // bits, scale.rows, codes, scale, zero, order, dtype, scales_dtype, out)
    try:
        return _repack_as(where, "s8" if bits == 8 else "s4", False, stream, library)
    except Error as why:
        if zero is None or "everywhere" not in str(why):
            raise
    return _repack_as(where, "s8" if bits == 8 else "u4", True, stream, library)


def from_awq(qweight: Any, qzeros: Any, scales: Any, *, dtype: Optional[str] = None, scales_dtype: Optional[str] = None, out: Any = None,
             stream: Any = None, library: Optional[Library] = None) -> Weights:
    """Of an AWQ layer: qweight k x n / 8 of int32, qzeros groups x n / 8, scales groups x n; 4 bits, in AWQ's order."""
    codes, scale, zero = look_at(qweight, "qweight", ("s32",)), look_at(scales, "scales", _SCALES), look_at(qzeros, "qzeros", ("s32",))
    where = (_AWQ, codes.columns * 8, codes.rows, scale.rows, codes, scale, zero, None, dtype, scales_dtype, out)
    return _repack_as(where, "u4", True, stream, library)


def from_gguf(blocks: Any, kind: str, *, dtype: str = "f16", scales_dtype: Optional[str] = None, out: Any = None, stream: Any = None,
              library: Optional[Library] = None) -> Weights:
    """Of a GGUF tensor of kind "Q4_0", "Q8_0", "Q4_K" or "Q6_K": its blocks as uint8, n rows of k / 32 * 18 (34) bytes, of K-quants k / 256 * 144 (210).
    dtype: of scales as they are kept; those of K-quants are kept as they come, and go with an x of f16 and of bf16."""
    if kind not in _GGUF:
        raise ValueError(f"kind is {kind!r}; expected 'Q4_0', 'Q8_0', 'Q4_K' or 'Q6_K'")
    format, type, columns, bytes = _GGUF[kind]
    codes = look_at(blocks, "blocks", ("u8",))
    if codes.columns % bytes:
        raise ValueError(f"blocks is {codes.rows}x{codes.columns}; expected rows of whole blocks, {bytes} bytes each")
    k, quant = codes.columns // bytes * columns, K_QUANTS.get(type)
    as_they_come = quant is not None and type_name(dtype) in _SCALES
    return _repack(format, type, codes.rows, k, max(k // (quant.columns if quant else 32), 1), codes, None, None, None, "f16" if as_they_come else dtype,
                   scales_dtype, quant is not None, out, stream, library, group=quant.group if quant else 32)


def from_mxfp4(blocks: Any, scales: Any, *, type: str = "e2m1", dtype: str = "bf16", scales_dtype: Optional[str] = None, out: Any = None,
               stream: Any = None, library: Optional[Library] = None) -> Weights:
    """Of MXFP4: blocks n x k / 2 of uint8, two floats e2m1 each, the lower column low; scales n x k / 32 of uint8, powers of two. type: "e2m1", as they
    are, or "e4m3", which holds them exactly in twice the bytes. dtype: of scales as they are kept, "bf16", "f32" or "f16"; a scale that f16 does not
    hold is refused."""
    codes, scale = look_at(blocks, "blocks", ("u8",))._replace(dtype="u4"), look_at(scales, "scales", ("u8",))
    return _repack(_MXFP4, type, codes.rows, codes.columns * 2, max(codes.columns // 16, 1), codes, scale, None, None, dtype, scales_dtype, False, out,
                   stream, library, group=32, usual="bf16")


def _of_experts(given: Given, codes: Given) -> Given:
    """Scales of experts that have one a row may come as experts x n."""
    if codes.experts is None or given.experts is not None or (given.rows, given.columns) != (codes.experts, codes.rows):
        return given
    return given._replace(rows=1, experts=given.rows)


def from_bnb_nf4(packed: Any, absmax: Any, *, n: int, k: int, dtype: Optional[str] = None, out: Any = None, stream: Any = None,
                 library: Optional[Library] = None) -> Weights:
    """Of bitsandbytes' NF4 of an n x k matrix: packed n * k / 2 of uint8, the lower column in the upper bits, and absmax n * k / blocksize of float32.
    Blocks of 32, 64, 128 or k, which divide k. Where absmax is quantised itself (double quantisation), decode it before:

        state = layer.weight.quant_state
        absmax = state.absmax
        if state.nested:
            absmax = bitsandbytes.functional.dequantize_blockwise(absmax, state.state2) + state.offset
        w = tilesmith.weights.from_bnb_nf4(layer.weight.data, absmax, n=state.shape[0], k=state.shape[1])

    Values of the table are rounded to the type of x when they are multiplied. dtype: of scales as they are kept, "f32" (default), "f16" or "bf16",
    which rounds them."""
    codes, scale, n, k = look_at(packed, "packed", ("u8",)), look_at(absmax, "absmax", ("f32",)), whole(n, "n"), whole(k, "k")
    blocks = scale.rows * scale.columns
    if n < 1 or blocks % n:
        raise ValueError(f"absmax has {blocks} values; expected the same number for each of {n} rows, blocks that divide k, {k}")
    return _repack(_BNB_NF4, "nf4", n, k, blocks // n, codes, scale, None, None, dtype, None, False, out, stream, library)


def _repack_as(where: Tuple[Any, ...], type: str, has_zeros: bool, stream: Any, library: Optional[Library]) -> Weights:
    format, n, k, groups, codes, scale, zero, order, dtype, scales_dtype, out = where
    return _repack(format, type, n, k, groups, codes, scale, zero, order, dtype, scales_dtype, has_zeros, out, stream, library)


def _repack(format: int, type: str, n: int, k: int, groups: int, codes: Given, scale: Optional[Given], zero: Optional[Given],
            order: Optional[Given], dtype: Optional[str], scales_dtype: Optional[str], has_zeros: bool, out: Any, stream: Any,
            library: Optional[Library], group: Optional[int] = None, usual: Optional[str] = None) -> Weights:
    given = [one for one in (codes, scale, zero, order) if one is not None]
    if len({one.on_host for one in given}) > 1:
        raise ValueError("some arrays are in host memory and others on a device; expected all in one place")
    if len({one.experts for one in given}) > 1:
        raise ValueError(f"arrays have {' and '.join(str(one.experts or 'no') for one in given)} experts; expected as many each")
    if group is None:
        if groups < 1 or k % groups:
            raise ValueError(f"scales have {groups} groups; expected a number of groups that divides k, {k}")
        group = 0 if groups == 1 else k // groups
    experts = codes.experts
    if experts is not None and experts < 1:
        raise ValueError("codes are of 0 experts; expected some")
    kept, a_bits = _types(dtype, scales_dtype, usual or (scale.dtype if scale is not None else "f16"))
    made, size = _made(type, n, k, group, kept, a_bits, has_zeros, experts or 0)
    lib, source, scale_type = load(), CSource(), made.scale_type.decode()
    _abi.check(lib.tilesmith_weights_source_init(ctypes.byref(source), format))
    source.on_host = codes.on_host
    for name, one in (("codes", codes), ("scales", scale), ("zeros", zero), ("g_idx", order)):
        if one is not None:
            setattr(source, name, one.c())
    each: Tuple[int, ...] = () if experts is None else (experts,)
    to = Out(*(out or ()))
    to_codes = memory_for(codes, to.codes, "codes", (*each, size.codes // (experts or 1)), "u8")
    zeros_of, zero_type = max(groups, 1), scale_type
    if type in K_QUANTS:
        zeros_of, scale_type, zero_type = max(k // 256, 1), K_QUANTS[type].scales, K_QUANTS[type].zeros
    to_scales = memory_for(codes, to.scales, "scales", (*each, max(groups, 1), n), scale_type)
    to_zeros = memory_for(codes, to.zeros, "zeros", (*each, zeros_of, n), zero_type) if has_zeros else None
    weights = Weights(type, n, k, group, scale_type, to_codes, to_scales, to_zeros, experts, a_bits)
    handle, number = None, 0
    if not codes.on_host:
        library = library or library_of(codes.array)
        handle = library.handle
        number = adapter_of(codes.array, "codes").stream(library.ordinal) if stream is None else stream_number(stream)
        for one in given if stream is not None else ():
            look(one.array, "an array", number)  # A DLPack producer makes that stream wait for its work.
    _abi.check(lib.tilesmith_weights_repack(handle, number, ctypes.byref(made), ctypes.byref(source), *weights.addresses))
    return weights
