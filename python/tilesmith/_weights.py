"""Weights as kernels read them."""

from __future__ import annotations

from typing import Any, Optional, Tuple

from ._given import look_at
from ._types import type_name


class Weights:
    """Weights as kernels read them: codes, scales (groups x n) and zeros (the same, or None), and what they are. Of several experts each has
    them: experts x groups x n; `experts` is None of one matrix. Immutable."""

    __slots__ = ("type", "n", "k", "group", "scale_type", "codes", "scales", "zeros", "addresses", "on_host", "experts")

    def __init__(self, type: str, n: int, k: int, group: int, scale_type: str, codes: Any, scales: Any, zeros: Any, experts: Optional[int] = None) -> None:
        self.type, self.n, self.k, self.group, self.scale_type, self.experts = type, n, k, group, scale_type, experts
        self.codes, self.scales, self.zeros = codes, scales, zeros
        given = look_at(codes, "codes")
        self.addresses: Tuple[int, int, Optional[int]] = (given.address, look_at(scales, "scales").address,
                                                          None if zeros is None else look_at(zeros, "zeros").address)
        self.on_host = given.on_host

    @classmethod
    def of_tensors(cls, text: str, n: int, k: int, codes: Any, scales: Any, zeros: Any) -> "Weights":
        """Of PyTorch's tensors that were made before, without a look at them: every call of a layer does this."""
        made = cls.__new__(cls)
        made.type, rest = text.split("_", 1)
        made.n, made.k, made.group = n, k, 0 if rest.startswith("column") else int(rest.split("+")[0][1:])
        made.scale_type = type_name(scales.dtype) or ""  # what is there: a text that says +f32 may be older than the tensor
        made.codes, made.scales, made.zeros = codes, scales, zeros
        made.addresses = codes.data_ptr(), scales.data_ptr(), None if zeros is None else zeros.data_ptr()
        made.on_host = False
        made.experts = scales.shape[0] if scales.dim() == 3 else None
        return made

    @property
    def text(self) -> str:
        """As a problem's text has them: "u4_g128+zeros"."""
        group = f"g{self.group}" if self.group else "column"
        return f"{self.type}_{group}{'+zeros' if self.zeros is not None else ''}{'+f32' if self.scale_type == 'f32' else ''}"

    def __repr__(self) -> str:
        of = "" if self.experts is None else f"{self.experts} experts of "
        return f"<tilesmith.weights.Weights {of}{self.n}x{self.k} {self.text} of {self.scale_type}>"
