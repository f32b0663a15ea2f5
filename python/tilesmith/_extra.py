"""What a product may have beside a, b and out: c, a bias, scales, offsets, and alpha and beta in device memory."""

from __future__ import annotations

import ctypes
from typing import Any, Dict, Hashable, List, Optional, Tuple

from ._arrays import View, elements, look, view_of
from ._layout import vector_length
from ._prepare import Prepared
from ._types import scale_type
from ._weights import Weights

NUMBERS = frozenset((float, int))
EXTRA_VIEWS = ("c", "bias", "scale_m", "scale_n", "offsets")


class Extra:
    """Addresses and keys of the operands that are there. c is left out where it is not read, or is out itself. Every call makes one, so it
    does no more than look."""

    __slots__ = ("key", "addresses", "reads_c", "device_scalars", "c_address", "weight_bits")

    def __init__(self, out: Any, out_address: int, stream: Optional[int], c: Any, bias: Any, scale_m: Any, scale_n: Any, offsets: Any,
                 alpha: Any, beta: Any, weights: Optional[Weights] = None) -> None:
        self.addresses: Dict[str, int] = {}
        self.weight_bits = 0  # of their addresses
        if weights is not None:
            _, scales, zeros = weights.addresses
            self.addresses.update(weight_scales=scales, weight_zeros=zeros or 0)
            self.weight_bits = scales | (zeros or 0)
        keys: List[Tuple[str, type, Hashable]] = []
        self.device_scalars = (type(alpha) not in NUMBERS or type(beta) not in NUMBERS) and self._scalars(alpha, beta, stream, keys)
        self.reads_c = "beta" in self.addresses or (not self.device_scalars and beta != 0)
        self.c_address = 0
        if self.reads_c:
            self._look_at_c(c, out, out_address, stream, keys)
        for name, array in (("bias", bias), ("scale_m", scale_m), ("scale_n", scale_n), ("offsets", offsets)):
            if array is not None:
                self.addresses[name], key = look(array, name, stream)
                keys.append((name, type(array), key))
        self.key = (tuple(keys), self.reads_c, self.c_address & 15)

    def _scalars(self, alpha: Any, beta: Any, stream: Optional[int], keys: List[Tuple[str, type, Hashable]]) -> bool:
        alpha_is_array, beta_is_array = _is_array(alpha), _is_array(beta)
        if not (alpha_is_array or beta_is_array):
            return False
        if not (alpha_is_array and (beta_is_array or beta == 0)):
            raise TypeError("one of alpha and beta is an array and the other a number; expected both in device memory, or beta 0")
        for name, value in (("alpha", alpha), ("beta", beta if beta_is_array else None)):
            if value is not None:
                self.addresses[name], key = look(value, name, stream)
                keys.append((name, type(value), key))
        return True

    def _look_at_c(self, c: Any, out: Any, out_address: int, stream: Optional[int], keys: List[Tuple[str, type, Hashable]]) -> None:
        if c is None and out is None:
            raise ValueError("beta is not 0, and neither c nor out is there; expected c, or an out that is added to")
        if c is None:
            return
        address, key = look(c, "c", stream)
        if out is None or address != out_address:
            self.addresses["c"] = self.c_address = address
            keys.append(("c", type(c), key))

    def views(self) -> Dict[str, Optional[View]]:
        """Of EXTRA_VIEWS, and of alpha and beta where they are arrays."""
        found = {name: view_of(kind, key, name) for name, kind, key in self.key[0]}
        return {**dict.fromkeys(EXTRA_VIEWS), **found}


def check_scalar(view: Optional[View], name: str, pair: str) -> None:
    """Of alpha or beta in device memory; None: it is a number."""
    if view is None:
        return
    if elements(view) != 1:
        raise ValueError(f"{name} has {elements(view)} elements; expected one, or a number")
    if view.dtype != scale_type(pair):
        raise ValueError(f"{name} is {view.dtype}; expected {scale_type(pair)} in device memory for {pair}")


def bias_kind(bias: Any, columns: int, output: str, stream: Optional[int]) -> Tuple[Optional[int], Optional[str]]:
    """Address and kind of a bias along the columns, as a Problem has it; None, None without one."""
    if bias is None:
        return None, None
    address, key = look(bias, "bias", stream)
    view = view_of(type(bias), key, "bias")
    if elements(view) != columns or vector_length(view, "bias") != columns:
        raise ValueError(f"bias has {elements(view)} elements; expected {columns}, one a column")
    if view.dtype not in (output, "f32"):
        raise ValueError(f"bias is {view.dtype}; expected {output}, as out, or f32")
    return address, "n" if view.dtype == output else "n_f32"


def _is_array(value: Any) -> bool:
    return type(value) not in NUMBERS and (hasattr(value, "__cuda_array_interface__") or hasattr(value, "__dlpack__"))


def operands_of(prepared: Prepared, extra: Optional[Extra], alpha: Any, beta: Any, a: int, b: int, d: int) -> Tuple[List[int], Any]:
    """A run's operands in the order of _abi.OPERANDS, a and b in that of the problem; and what has to be held until the call returns."""
    at: Dict[str, int] = extra.addresses if extra is not None else {}
    held: List[Any] = []
    one, other = at.get("alpha", 0), at.get("beta", 0)
    if extra is None or not extra.device_scalars:  # 0: alpha is 1, beta is 0
        held = [None if alpha == 1 else prepared.scalar_of(alpha), None if beta == 0 else prepared.scalar_of(beta)]
        one, other = (0 if scalar is None else ctypes.addressof(scalar) for scalar in held)
    rows, columns = ("scale_n", "scale_m") if prepared.swapped else ("scale_m", "scale_n")
    return [a, b, at.get("c", 0), d, at.get(rows, 0), at.get(columns, 0), at.get("bias", 0), at.get("offsets", 0), one, other, 0, at.get("weight_scales", 0),
            at.get("weight_zeros", 0)], held
