"""Tilesmith in PyTorch: an operator, and kernels in the place of PyTorch's own.

    import tilesmith.torch
    with tilesmith.torch.enabled():
        model(x)                                  # mm, addmm, bmm, linear, ... by our kernels where they are known to be good
    print(tilesmith.torch.stats())

See docs/python.md. PyTorch 2.3 or newer.
"""

from __future__ import annotations

import contextlib
import warnings
from typing import Any, Dict, FrozenSet, Iterable, Iterator, Optional, Tuple, Union

import torch

from .._errors import Error
from .._library import Library, Path
from .._problem import Problem
from . import _enabled
from ._experts import ExpertsLinear, linear_experts
from ._fp8 import Fp8ExpertsLinear, Fp8Linear
from ._inductor import external_matmul
from ._linear import Linear, dequantized, linear
from ._models import load_quantized_, quantize_
from ._operator import gemm
from ._rounding import quantize
from ._serving import LEVELS, Serving
from ._sparse import SparseLinear, to_sparse_semi_structured

__all__ = ["ExpertsLinear", "Fp8ExpertsLinear", "Fp8Linear", "Linear", "Serving", "SparseLinear", "dequantized", "enabled", "external_matmul", "gemm", "linear",
           "linear_experts", "load_quantized_", "problems", "quantize", "quantize_", "reset", "stats", "to_sparse_semi_structured"]

_last: Optional[Serving] = None
# Kept, with their plans: a captured graph may hold them.
_servings: Dict[Tuple[Optional[int], FrozenSet[str]], Serving] = {}


@contextlib.contextmanager
def enabled(library: Optional[Library] = None, *, levels: Iterable[str] = LEVELS,
            prepare: Union[None, Path, Iterable[Union[Problem, str]]] = None, _key: str = "CUDA") -> Iterator[Serving]:
    """While it is entered, the products of PyTorch on CUDA are served by Tilesmith's kernels, in every thread of the process: mm, addmm, bmm,
    baddbmm, what is made of them (linear, matmul, @, einsum, their gradients), _int_mm, _scaled_mm, _scaled_mm_v2
    (torch.nn.functional.scaled_mm) and _grouped_mm.

    Results are as exact as PyTorch's own settings ask for. A product goes to PyTorch if its types, layout or epilogue are none of ours, if its
    kernel is of a level that `levels` lacks, or if its stream is captured and it has not run before: run a model once before you capture it.
    The first run of each problem makes its plan. `library`: by default the device's own (tilesmith.set_default). `prepare`: problems that will come
    up, such as problems() of a former run, or the path of a workload file: their kernels are compiled at once, before anything runs (for the
    current device; Library.prepare_all). One that fails is a warning.
    """
    global _last
    made = Serving(library, levels)
    serving = _servings.setdefault((None if library is None else id(library), made.levels), made)
    serving.reset()
    if prepare is not None:
        try:
            serving.library(torch.cuda.current_device() if torch.cuda.is_available() else 0).prepare_all(prepare)
        except Error as why:
            warnings.warn(f"tilesmith.torch.enabled(prepare=...): {why}", stacklevel=3)
    overrides = _enabled.push(serving, _key)
    _last = serving
    try:
        yield serving
    finally:
        _enabled.pop(overrides)


def stats() -> Dict[str, Any]:
    """Of the running enabled(), or of the last: {"served": {op: calls}, "forwarded": {op: {reason: calls}}}."""
    return _last.stats() if _last is not None else {"served": {}, "forwarded": {}}


def problems() -> Dict[Problem, int]:
    """The problems that came up in it, those of Linear with weights too, and how often: tilesmith.tune(tilesmith.torch.problems(), "10m")."""
    return _last.problems() if _last is not None else {}


def reset() -> None:
    """Sets the counts of stats() and problems() to zero."""
    if _last is not None:
        _last.reset()
