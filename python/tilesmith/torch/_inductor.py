"""A choice for Inductor's autotuning of products."""

from __future__ import annotations

from typing import Optional

import torch

from . import _enabled
from ._aten import mm
from ._serving import Serving

_serving: Optional[Serving] = None


def external_matmul(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> None:
    """out <- a b. For torch._inductor.config.external_matmul: with max_autotune it is timed beside Inductor's own choices, and chosen where it
    is faster. What it cannot serve it leaves to PyTorch."""
    global _serving
    serving = _enabled.current() or _serving
    if serving is None:
        serving = _serving = Serving(levels=("exact", "trial", "model", "generic"))
    if mm(serving, a, b, out=out) is None:
        torch.mm(a, b, out=out)
