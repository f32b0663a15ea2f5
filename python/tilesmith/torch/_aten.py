"""PyTorch's own products as products of ours. Each function returns the result, or None if PyTorch is to compute it."""

from __future__ import annotations

from typing import Any, Callable, Dict, Optional, Sequence, Tuple

import torch
from torch import Tensor

from .._prepare import SCALE_BLOCK
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
    rows, columns, k = a.shape[0], b.shape[1], a.shape[1]
    one = scale_a.numel() == 1 and scale_b.numel() == 1
    each = scale_a.shape == (rows, 1) and scale_b.shape == (1, columns)
    if not (one or each):
        if scale_b.dim() == 2:
            scale_b = scale_b.t()
        if not all(_is_each_by_block(scale, length, k) or _is_block(scale, length, k) for scale, length in ((scale_a, rows), (scale_b, columns))):
            return serving.forward("_scaled_mm", "its scales are neither one for all, nor one for each row and column, nor packed ones of blocks of 128")
    return serving.product("_scaled_mm", a, b, out, scale_m=scale_a, scale_n=scale_b, bias=bias,
                           out_dtype=None if out is not None else out_dtype or a.dtype)


def _blocks(length: int) -> int:
    return -(-length // SCALE_BLOCK)


def _is_each_by_block(scale: Tensor, rows: int, k: int) -> bool:
    """Whether it is rows x blocks of K with contiguous columns."""
    return scale.shape == (rows, _blocks(k)) and scale.t().is_contiguous()


def _is_block(scale: Tensor, rows: int, k: int) -> bool:
    """Whether it is blocks of rows x blocks of K with contiguous rows."""
    return scale.shape == (_blocks(rows), _blocks(k)) and scale.is_contiguous()


# Recipes of torch.nn.functional.ScalingType that have kernels of ours.
_RECIPES = {0: "TensorWise", 1: "RowWise", 4: "BlockWise1x128", 5: "BlockWise128x128"}
_RECIPE_PAIRS = {("TensorWise", "TensorWise"), ("RowWise", "RowWise"), ("BlockWise1x128", "BlockWise1x128"), ("BlockWise1x128", "BlockWise128x128"),
                 ("BlockWise128x128", "BlockWise1x128")}


def scaled_mm_v2(serving: Serving, a: Tensor, b: Tensor, scale_a: Sequence[Tensor], recipe_a: Sequence[int], swizzle_a: Sequence[int],
                 scale_b: Sequence[Tensor], recipe_b: Sequence[int], swizzle_b: Sequence[int], bias: Optional[Tensor] = None,
                 out_dtype: Optional[torch.dtype] = None, contraction_dim: Sequence[int] = (), use_fast_accum: bool = False, *,
                 out: Optional[Tensor] = None) -> Optional[Tensor]:
    op = "_scaled_mm_v2"
    if any(len(given) != 1 for given in (scale_a, recipe_a, scale_b, recipe_b)) or a.dim() != 2 or b.dim() != 2:
        return serving.forward(op, "it is not a product of two matrices that have one scales array each")
    if any(swizzle_a) or any(swizzle_b):
        return serving.forward(op, "its scales are swizzled")
    if list(contraction_dim) not in ([], [1, 0], [-1, 0], [1, -2], [-1, -2]):
        return serving.forward(op, "it does not contract the columns of a with the rows of b")
    pair = _RECIPES.get(recipe_a[0], str(recipe_a[0])), _RECIPES.get(recipe_b[0], str(recipe_b[0]))
    if pair not in _RECIPE_PAIRS:
        return serving.forward(op, f"there are no kernels for the recipes {pair[0]} and {pair[1]}")
    scales = [_as_ours(scale, recipe, length, a.shape[1], each) for scale, recipe, length, each in
              ((scale_a[0], pair[0], a.shape[0], (a.shape[0], 1)), (scale_b[0], pair[1], b.shape[1], (1, b.shape[1])))]
    for what, scale, given in zip(("a", "b"), scales, (scale_a[0], scale_b[0])):
        if scale is None:
            return serving.forward(op, f"scale_{what} is {list(given.shape)} with strides {list(given.stride())}, a layout that our kernels do not read")
    return serving.product(op, a, b, out, scale_m=scales[0], scale_n=scales[1], bias=bias, out_dtype=None if out is not None else out_dtype or a.dtype)


def _as_ours(scale: Tensor, recipe: str, rows: int, k: int, each: Tuple[int, int]) -> Optional[Tensor]:
    """The scales of a recipe as tilesmith.gemm reads them; None if they lie otherwise."""
    if recipe == "TensorWise":
        return scale if scale.numel() == 1 else None
    if recipe == "RowWise":
        return scale if scale.shape == each else None
    if recipe == "BlockWise1x128":
        return scale if _is_each_by_block(scale, rows, k) else None
    # Blocks of K x blocks of rows. PyTorch pads each row of blocks to a multiple of 4. Ours are packed, which is the same without padding, or of one row.
    if scale.dim() != 2 or scale.shape[0] not in (_blocks(k), -(-_blocks(k) // 4) * 4):
        return None
    scale = scale[: _blocks(k)].t()
    return scale if _is_block(scale, rows, k) else None


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
                                "_scaled_mm_v2": scaled_mm_v2, "_grouped_mm": grouped_mm}
