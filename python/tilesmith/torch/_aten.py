"""PyTorch's own products as products of ours. Each function returns the result, or None if PyTorch is to compute it."""

from __future__ import annotations

from typing import Any, Callable, Dict, Optional

import torch
from torch import Tensor

from ._serving import Serving

Handler = Callable[..., Optional[Tensor]]


def f32_compute() -> Optional[str]:
    """How PyTorch was told to multiply f32."""
    getter = getattr(torch._C, "_get_fp32_precision_getter", None)
    if getter is not None:
        return "tf32" if getter("cuda", "matmul") == "tf32" else None
    return "tf32" if torch._C._get_cublas_allow_tf32() else None


def _compute_of(a: Tensor) -> Optional[str]:
    return f32_compute() if a.dtype is torch.float32 else None


def mm(serving: Serving, a: Tensor, b: Tensor, *, out: Optional[Tensor] = None) -> Optional[Tensor]:
    return serving.product("mm", a, b, out, compute=_compute_of(a))


def bmm(serving: Serving, a: Tensor, b: Tensor, *, out: Optional[Tensor] = None) -> Optional[Tensor]:
    return serving.product("bmm", a, b, out, compute=_compute_of(a))


def int_mm(serving: Serving, a: Tensor, b: Tensor, *, out: Optional[Tensor] = None) -> Optional[Tensor]:
    return serving.product("_int_mm", a, b, out)


def addmm(serving: Serving, c: Tensor, a: Tensor, b: Tensor, *, beta: Any = 1, alpha: Any = 1, out: Optional[Tensor] = None) -> Optional[Tensor]:
    return _add("addmm", serving, c, a, b, beta, alpha, out)


def baddbmm(serving: Serving, c: Tensor, a: Tensor, b: Tensor, *, beta: Any = 1, alpha: Any = 1, out: Optional[Tensor] = None
            ) -> Optional[Tensor]:
    return _add("baddbmm", serving, c, a, b, beta, alpha, out)


def _add(op: str, serving: Serving, c: Tensor, a: Tensor, b: Tensor, beta: Any, alpha: Any, out: Optional[Tensor]) -> Optional[Tensor]:
    compute = _compute_of(a)
    if beta == 0:
        return serving.product(op, a, b, out, alpha=alpha, compute=compute)
    if c.dtype != a.dtype:
        return serving.forward(op, f"what is added is {c.dtype}")
    columns, rank = b.shape[-1], c.dim()
    # A vector along the columns, as a Linear layer has it, or one that was expanded to rows.
    is_row = c.shape[-1:] == (columns,) and all(extent == 1 or stride == 0 for extent, stride in zip(c.shape[:-1], c.stride()))
    if is_row and beta == 1:
        row = c if rank == 1 else c[(0,) * (rank - 1)]
        return serving.product(op, a, b, out, alpha=alpha, bias=row, compute=compute)
    if c.shape != (*a.shape[:-1], columns):
        return serving.forward(op, "what is added is broadcast, and is no vector along the columns with beta 1")
    return serving.product(op, a, b, out, alpha=alpha, beta=beta, c=c, compute=compute)


def scaled_mm(serving: Serving, a: Tensor, b: Tensor, scale_a: Tensor, scale_b: Tensor, bias: Optional[Tensor] = None,
              scale_result: Optional[Tensor] = None, out_dtype: Optional[torch.dtype] = None, use_fast_accum: bool = False, *,
              out: Optional[Tensor] = None) -> Optional[Tensor]:
    if scale_result is not None:
        return serving.forward("_scaled_mm", "it has a scale_result")
    rows, columns = a.shape[0], b.shape[1]
    one = scale_a.numel() == 1 and scale_b.numel() == 1
    each = scale_a.shape == (rows, 1) and scale_b.shape == (1, columns)
    if not (one or each):
        return serving.forward("_scaled_mm", "its scales are neither one for all nor one for each row and column")
    return serving.product("_scaled_mm", a, b, out, scale_m=scale_a, scale_n=scale_b, bias=bias,
                           out_dtype=None if out is not None else out_dtype or a.dtype)


def grouped_mm(serving: Serving, a: Tensor, b: Tensor, offs: Optional[Tensor] = None, bias: Optional[Tensor] = None,
               out_dtype: Optional[torch.dtype] = None) -> Optional[Tensor]:
    if bias is not None:
        return serving.forward("_grouped_mm", "it has a bias")
    if offs is None and a.dim() == 3 and b.dim() == 3:
        return serving.product("_grouped_mm", a, b, out_dtype=out_dtype or a.dtype)
    if offs is None or a.dim() != 2 or b.dim() != 3:
        return serving.forward("_grouped_mm", f"a has {a.dim()} dimensions and b {b.dim()}")
    return serving.product("_grouped_mm", a, b, offsets=offs, out_dtype=out_dtype or a.dtype)


HANDLERS: Dict[str, Handler] = {"mm": mm, "addmm": addmm, "bmm": bmm, "baddbmm": baddbmm, "_int_mm": int_mm, "_scaled_mm": scaled_mm,
                                "_grouped_mm": grouped_mm}
