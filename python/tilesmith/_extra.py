"""What a product may have beside a, b and out: c, a bias, scales, offsets, and alpha and beta in device memory."""

from __future__ import annotations

import ctypes
from typing import Any, Dict, Optional

from . import _abi
from ._arrays import View, adapter_of, elements, look
from ._prepare import Prepared
from ._types import scale_type

NUMBERS = frozenset((float, int))
EXTRA_VIEWS = ("c", "bias", "scale_m", "scale_n", "offsets")
_ARGS_BYTES = ctypes.sizeof(_abi.CRunArgs)


class Extra:
    """Addresses and keys of the operands that are there. c is left out where it is not read, or is out itself."""

    __slots__ = ("key", "addresses", "reads_c", "device_scalars", "c_address", "_arrays", "_keys")

    def __init__(self, out: Any, out_address: int, stream: Optional[int], c: Any, bias: Any, scale_m: Any, scale_n: Any, offsets: Any,
                 alpha: Any, beta: Any) -> None:
        alpha_is_array, beta_is_array = _is_array(alpha), _is_array(beta)
        self.device_scalars = alpha_is_array or beta_is_array
        if self.device_scalars and not (alpha_is_array and (beta_is_array or beta == 0)):
            raise TypeError("one of alpha and beta is an array and the other a number; expected both in device memory, or beta 0")
        self.reads_c = beta_is_array or beta != 0
        if self.reads_c and c is None and out is None:
            raise ValueError("beta is not 0, and neither c nor out is there; expected c, or an out that is added to")
        given = {"bias": bias, "scale_m": scale_m, "scale_n": scale_n, "offsets": offsets, "c": c if self.reads_c else None}
        if self.device_scalars:
            given.update(alpha=alpha, beta=beta if beta_is_array else None)
        self._arrays = {name: array for name, array in given.items() if array is not None}
        looks = {name: look(array, name, stream) for name, array in self._arrays.items()}
        if "c" in looks and out is not None and looks["c"][0] == out_address:
            del looks["c"], self._arrays["c"]
        self.addresses = {name: address for name, (address, _) in looks.items()}
        self._keys = {name: key for name, (_, key) in looks.items()}
        self.c_address = self.addresses.get("c", 0)
        self.key = (tuple(self._keys.items()), tuple(map(type, self._arrays.values())), self.reads_c, self.c_address & 15)

    def views(self) -> Dict[str, Optional[View]]:
        """Of EXTRA_VIEWS. Alpha and beta are checked here."""
        views = {name: adapter_of(array, name).describe(self._keys[name]) for name, array in self._arrays.items()}
        for name in ("alpha", "beta"):
            view = views.pop(name, None)
            if view is not None and elements(view) != 1:
                raise ValueError(f"{name} has {elements(view)} elements; expected one, or a number")
        return {name: views.get(name) for name in EXTRA_VIEWS}

    def check_scalars(self, pair: str) -> None:
        for name in ("alpha", "beta"):
            if name in self._arrays:
                dtype = adapter_of(self._arrays[name], name).describe(self._keys[name]).dtype
                if dtype != scale_type(pair):
                    raise ValueError(f"{name} is {dtype}; expected {scale_type(pair)} in device memory for {pair}")


def _is_array(value: Any) -> bool:
    return type(value) not in NUMBERS and (hasattr(value, "__cuda_array_interface__") or hasattr(value, "__dlpack__"))


def extra_args(prepared: Prepared, extra: Optional[Extra], alpha: Any, beta: Any, a: int, b: int, d: int) -> Any:
    """The tilesmith_run_args of a run, a and b in the order of the problem. What it points to lives as long as it does."""
    at = (extra.addresses if extra is not None else {}).get
    args = _abi.CRunArgs(_ARGS_BYTES, None, None, a, b, at("c"), d, None, at("bias"), at("scale_m"), at("scale_n"), at("offsets"))
    if prepared.swapped:
        args.scale_m, args.scale_n = args.scale_n, args.scale_m
    if extra is not None and extra.device_scalars:
        args.alpha, args.beta = at("alpha"), at("beta")
    else:
        args.held = scalars = prepared.scalar_of(alpha), prepared.scalar_of(beta)
        args.alpha, args.beta = map(ctypes.addressof, scalars)
    return args
