"""Element types by one name each, and the type pair of a product."""

from __future__ import annotations

import operator
from typing import Any, Optional

# bytes of an element of products, and of kernels of one's own
SIZES = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2, "s32": 4, "s8": 1, "u8": 1, "e4m3": 1, "e5m2": 1}
ALL_SIZES = {**SIZES, "s16": 2, "u16": 2, "u32": 4, "s64": 8, "u64": 8}

_NAMES = {
    "float64": "f64", "float32": "f32", "float16": "f16", "half": "f16", "bfloat16": "bf16", "int32": "s32", "int8": "s8", "uint8": "u8",
    "int16": "s16", "uint16": "u16", "uint32": "u32", "int64": "s64", "uint64": "u64", "float8_e4m3fn": "e4m3", "float8_e5m2": "e5m2",
}
_TYPESTRS = {"f8": "f64", "f4": "f32", "f2": "f16", "i4": "s32", "i1": "s8", "u1": "u8", "i2": "s16", "u2": "u16", "u4": "u32", "i8": "s64", "u8": "u64"}

# Of A and B: what D is where nothing says it.
_USUAL_OUTPUT = {"f64": "f64", "f32": "f32", "f16": "f16", "bf16": "bf16", "s8": "s32", "u8": "s32", "e4m3": "bf16", "e5m2": "bf16",
                 "s4": "s32", "u4": "s32", "b1": "s32", "b1xor": "s32"}
# Of A and B: what D may be, and the type pair then.
_PAIRS = {
    "f64": {"f64": "f64f64"},
    "f32": {"f32": "f32f32"},
    "f16": {"f16": "f16f32f16", "f32": "f16f32"},
    "bf16": {"bf16": "bf16f32bf16", "f32": "bf16f32"},
    "s8": {"s32": "s8s32", "f16": "s8s32f16", "bf16": "s8s32bf16", "s8": "s8s32s8"},
    "u8": {"s32": "u8s32", "f16": "u8s32f16", "bf16": "u8s32bf16", "s8": "u8s32s8"},
    "s4": {"s32": "s4s32"},
    "u4": {"s32": "u4s32"},
    "b1": {"s32": "b1s32"},
    "b1xor": {"s32": "b1xors32"},
    "e4m3": {"f32": "e4m3f32", "bf16": "e4m3f32bf16", "f16": "e4m3f32f16", "e4m3": "e4m3f32e4m3"},
    "e5m2": {"f32": "e5m2f32", "bf16": "e5m2f32bf16", "f16": "e5m2f32f16", "e4m3": "e5m2f32e4m3"},
}
# (A and B, D, compute): how sums are made otherwise.
_COMPUTES = {("f16", "f16", "f16"): "f16f16", ("f32", "f32", "tf32"): "tf32f32", ("f32", "f32", "f32x3"): "f32x3f32"}
# Of arrays of u8: elements of a byte, the one of lower index in its lower bits.
PACKED = {"s4": 2, "u4": 2, "b1": 8, "b1xor": 8}
_USUAL_COMPUTE = {"f64": "f64", "s8": "s32", "u8": "s32"}


def type_name(dtype: object) -> Optional[str]:
    """"bf16" for torch.bfloat16, a NumPy-like dtype, or "bf16" itself; None for what has no kernels."""
    name = getattr(dtype, "name", None) or str(dtype)
    name = name.rsplit(".", 1)[-1]
    return name if name in ALL_SIZES else _NAMES.get(name)


def name_of_typestr(typestr: str) -> Optional[str]:
    """Of "<f2" as __cuda_array_interface__ has it."""
    return None if typestr[:1] == ">" else _TYPESTRS.get(typestr[1:])


def usual_output(operand: str, scaled: bool = False) -> str:
    """Scaled integers are real numbers."""
    return "bf16" if scaled and operand in ("s8", "u8") else _USUAL_OUTPUT.get(operand, operand)


def type_pair(a: str, b: str, output: str, compute: Optional[str]) -> str:
    """The type pair's name; ValueError in one line if there is none."""
    if a != b:
        raise ValueError(f"a is {a} and b {b}; expected one type for both")
    if a not in _PAIRS:
        raise ValueError(f"a and b are {a}; expected one of {', '.join(x for x in _PAIRS if x not in PACKED)}")
    if output not in _PAIRS[a]:
        raise ValueError(f"the output is {output}; expected {' or '.join(_PAIRS[a])} of a product of {a}")
    if compute is None or compute == _USUAL_COMPUTE.get(a, "f32"):
        return _PAIRS[a][output]
    pair = _COMPUTES.get((a, output, compute))
    if pair is None:
        known = [_USUAL_COMPUTE.get(a, "f32")] + [c for (x, y, c) in _COMPUTES if (x, y) == (a, output)] + (list(PACKED) if a == "u8" else [])
        raise ValueError(f"compute is {compute!r}; expected None or {' or '.join(map(repr, known))} for {a} to {output}")
    return pair


def scale_type(pair: str) -> str:
    """The type of alpha and beta."""
    return "f64" if pair == "f64f64" else "s32" if pair.endswith("s32") else "f32"


def whole(value: Any, what: str, bits: int = 64) -> int:
    """For a C integer of so many bits, which ctypes would wrap."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{what} is {value!r}; expected a whole number") from None
    if not -1 << bits - 1 <= number < 1 << bits - 1:
        raise ValueError(f"{what} is {number}; expected a whole number of {bits} bits")
    return number


def encoded(value: Any, what: str, example: str, most: int = 255) -> bytes:
    """For a C text of so many bytes, which ctypes would refuse in words of its own."""
    if not isinstance(value, str):
        raise TypeError(f"{what} is {value!r}; expected a text such as {example!r}")
    text = value.encode()
    if len(text) > most:
        raise ValueError(f"{what} is {value!r}; expected a text such as {example!r}")
    return text
