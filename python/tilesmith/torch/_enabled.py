"""Puts our kernels in the place of PyTorch's, and takes them away again.

The override stands at a backend's key of the dispatcher, below autograd: PyTorch's own formulas run, and their products are served too. It
costs nothing to any other operator. What is not served goes to PyTorch's own kernel: by torch.library.get_kernel where there is one; before,
an operator's functional form is overridden alone, and its out= form computes.
"""

from __future__ import annotations

import threading
import warnings
from typing import Any, Callable, List, Optional

import torch

from . import _aten
from ._serving import Serving

_lock = threading.Lock()
_active: List["Overrides"] = []


def current() -> Optional[Serving]:
    """Of the innermost enabled()."""
    return _active[-1].serving if _active else None


class Overrides:
    """One Library of torch.library, which holds the overrides for as long as it is there."""

    def __init__(self, serving: Serving, key: str) -> None:
        self.serving = serving
        self._library = torch.library.Library("aten", "IMPL")
        get_kernel = getattr(torch.library, "get_kernel", None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a kernel is overridden is the point
            for name, handler in _aten.HANDLERS.items():
                for overload in ("default", "out"):
                    self._override(name, overload, handler, key, get_kernel)

    def _override(self, name: str, overload: str, handler: _aten.Handler, key: str, get_kernel: Any) -> None:
        op = getattr(getattr(torch.ops.aten, name, None), overload, None)
        if op is None or not _is_known(op):
            return
        full = name if overload == "default" else f"{name}.{overload}"
        if get_kernel is not None:
            try:
                kernel = get_kernel(op, key)
            except RuntimeError:
                return  # the backend has none
            self._impl(full, _with_kernel(self.serving, handler, kernel), key, with_keyset=True)
        elif overload == "default" and hasattr(getattr(torch.ops.aten, name), "out"):
            self._impl(full, _with_out(self.serving, handler, getattr(torch.ops.aten, name).out), key)

    def _impl(self, name: str, function: Callable[..., Any], key: str, **how: bool) -> None:
        try:
            self._library.impl(name, function, key, allow_override=True, **how)
        except TypeError:  # before 2.8
            self._library.impl(name, function, key, **how)

    def close(self) -> None:
        self._library._destroy()


# Names of the operands that the handlers know; an operator of another PyTorch that has others is left alone.
_OPERANDS = {
    "mm": ["self", "mat2"], "bmm": ["self", "mat2"], "_int_mm": ["self", "mat2"], "addmm": ["self", "mat1", "mat2", "beta", "alpha"],
    "baddbmm": ["self", "batch1", "batch2", "beta", "alpha"],
    "_scaled_mm": ["self", "mat2", "scale_a", "scale_b", "bias", "scale_result", "out_dtype", "use_fast_accum"],
    "_scaled_mm_v2": ["self", "mat2", "scale_a", "recipe_a", "swizzle_a", "scale_b", "recipe_b", "swizzle_b", "bias", "out_dtype", "contraction_dim",
                      "use_fast_accum"],
    "_grouped_mm": ["self", "mat2", "offs", "bias", "out_dtype"],
}


def _is_known(op: Any) -> bool:
    schema = op._schema
    names = [argument.name for argument in schema.arguments if argument.name != "out"]
    return names == _OPERANDS[schema.name.partition("::")[2]] and len(schema.returns) == 1


def _with_kernel(serving: Serving, handler: _aten.Handler, kernel: Any) -> Callable[..., Any]:
    call_boxed = kernel.call_boxed

    def served_or_forwarded(keys: Any, *args: Any, **kwargs: Any) -> Any:
        result = handler(serving, *args, **kwargs)
        return call_boxed(keys, *args, **kwargs) if result is None else result

    return served_or_forwarded


def _with_out(serving: Serving, handler: _aten.Handler, out_form: Any) -> Callable[..., Any]:
    def served_or_forwarded(*args: Any, **kwargs: Any) -> Any:
        result = handler(serving, *args, **kwargs)
        if result is not None:
            return result
        operands = [argument for argument in args if isinstance(argument, torch.Tensor)]
        dtype = operands[0].dtype
        if out_form is torch.ops.aten._int_mm.out:
            dtype = torch.int32
        elif "scaled" in str(out_form):
            dtype = kwargs.get("out_dtype") or (args[6] if len(args) > 6 else None) or dtype
        return out_form(*args, **kwargs, out=operands[0].new_empty(0, dtype=dtype))

    return served_or_forwarded


def push(serving: Serving, key: str) -> Overrides:
    with _lock:
        if _active:
            raise RuntimeError("tilesmith.torch.enabled() is active already; expected one at a time in a process")
        overrides = Overrides(serving, key)
        _active.append(overrides)
        return overrides


def pop(overrides: Overrides) -> None:
    with _lock:
        _active.remove(overrides)
        overrides.close()
