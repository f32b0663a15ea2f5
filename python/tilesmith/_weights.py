"""Weights as kernels read them."""

from __future__ import annotations

from typing import Any, NamedTuple, Optional, Tuple

from ._given import look_at
from ._types import type_name

A_OF_BYTES = ("e4m3", "s8")  # types of an A of 8 bits, which share a layout of codes


class Key(NamedTuple):
    """All of weights that decides a problem, but for addresses."""

    text: str
    n: int
    k: int
    experts: Optional[int]
    scale_type: str
    a_bits: int
    on_host: bool

    def output(self, a: str, wanted: Optional[str], what: str) -> str:
        """The result's type with an A of type `a`. ValueError in one line if there is no such product."""
        if self.on_host:
            raise ValueError("weights are in host memory; expected some on a CUDA device")
        of_bytes, outputs = self.a_bits == 8, {"e4m3": ("f16", "bf16", "f32"), "s8": ("f16", "bf16")}.get(a, (a,))
        expected = " or ".join(A_OF_BYTES if of_bytes else ("f16", "bf16"))
        if a not in ("f16", "bf16", *A_OF_BYTES):
            raise ValueError(f"{what} is of {a}; expected {expected}")
        if (a in A_OF_BYTES) != of_bytes:
            raise ValueError(f"{what} is of {a}; expected {expected}, for which the weights are packed (dtype='e4m3' and 's8' pack them for 8 bits)")
        usual = a if not of_bytes else "bf16" if self.scale_type == "f32" else self.scale_type
        output = wanted or usual
        if output not in outputs:
            raise ValueError(f"the output is {output}; expected {', '.join(outputs[:-1])}{' or ' if of_bytes else ''}{outputs[-1]} of a product of {a} and weights")
        if self.scale_type not in (output, "f32", *(kind.scales for kind in K_QUANTS.values())):  # of K-quants, for either
            raise ValueError(f"the scales of the weights are {self.scale_type}; expected {output}, as {'the output' if of_bytes else what}, or f32")
        return output


class KQuant(NamedTuple):
    """Columns that share a scale, columns of a row of the array of scales, and the types of its elements and of the zeros', which hold several numbers."""

    group: int
    columns: int
    scales: str
    zeros: str


K_QUANTS = {"q4_k": KQuant(32, 32, "s16", "s32"), "q6_k": KQuant(16, 64, "s32", "s16")}


class Weights:
    """Weights as kernels read them: codes, scales (groups x n) and zeros (the same, or None), and what they are. Of several experts each has
    them: experts x groups x n; `experts` is None of one matrix. a_bits: of the elements of A for which the codes are laid out, 16, or 8 of
    e4m3 and s8. Of q4_k, scales are s16, pairs of bytes, and zeros are k / 256 x n of s32, pairs of f16. Of q6_k, scales are
    k / 64 x n of s32, four bytes, and zeros are k / 256 x n of s16, the bits of f16. Immutable."""

    __slots__ = ("type", "n", "k", "group", "scale_type", "codes", "scales", "zeros", "addresses", "on_host", "experts", "a_bits")

    def __init__(self, type: str, n: int, k: int, group: int, scale_type: str, codes: Any, scales: Any, zeros: Any, experts: Optional[int] = None,
                 a_bits: int = 16) -> None:
        self.type, self.n, self.k, self.group, self.scale_type, self.experts = type, n, k, group, scale_type, experts
        self.codes, self.scales, self.zeros, self.a_bits = codes, scales, zeros, a_bits
        given = look_at(codes, "codes")
        self.addresses: Tuple[int, int, Optional[int]] = (given.address, look_at(scales, "scales").address,
                                                          None if zeros is None else look_at(zeros, "zeros").address)
        self.on_host = given.on_host

    @classmethod
    def of_tensors(cls, text: str, n: int, k: int, codes: Any, scales: Any, zeros: Any, a_bits: int = 16) -> "Weights":
        """Of PyTorch's tensors that were made before, without a look at them: every call of a layer does this."""
        made = cls.__new__(cls)
        made.type, rest = (text, f"g{K_QUANTS[text].group}") if text in K_QUANTS else text.split("_", 1)
        made.n, made.k, made.group = n, k, 0 if rest.startswith("column") else int(rest.split("+")[0][1:])
        made.scale_type = type_name(scales.dtype) or ""  # what is there: a text that says +f32 may be older than the tensor
        made.codes, made.scales, made.zeros, made.a_bits = codes, scales, zeros, a_bits
        made.addresses = codes.data_ptr(), scales.data_ptr(), None if zeros is None else zeros.data_ptr()
        made.on_host = False
        made.experts = scales.shape[0] if scales.dim() == 3 else None
        return made

    @property
    def text(self) -> str:
        """As a problem's text has them: "u4_g128+zeros"."""
        if self.type in K_QUANTS:
            return self.type
        group = f"g{self.group}" if self.group else "column"
        return f"{self.type}_{group}{'+zeros' if self.zeros is not None else ''}{'+f32' if self.scale_type == 'f32' else ''}"

    @property
    def key(self) -> "Key":
        return Key(self.text, self.n, self.k, self.experts, self.scale_type, self.a_bits, self.on_host)

    def __repr__(self) -> str:
        of = "" if self.experts is None else f"{self.experts} experts of "
        return f"<tilesmith.weights.Weights {of}{self.n}x{self.k} {self.text} of {self.scale_type}{' for 8 bits' if self.a_bits == 8 else ''}>"
