"""Matrices as 8-bit floats or integers and their scales, as tilesmith.gemm reads them. By PyTorch's own operators."""

from __future__ import annotations

import sys
from typing import Any, Optional, Tuple

from ._layout import shape_text
from ._prepare import SCALE_BLOCK

_LARGEST = {"e4m3": 448.0, "s8": 127.0}


def quantise(x: Any, type: str, block: Optional[int] = None) -> Tuple[Any, Any]:
    """Rounds x to 8 bits: returns elements, and f32 scales by which they are multiplied to get x back. For operands of tilesmith.gemm:

        q, scales = tilesmith.quantise(x, "e4m3", block=128)
        y = tilesmith.gemm(q, weight.t(), scale_m=scales, scale_n=weight_scales)

    x: a tensor of PyTorch, m x k of f16, bf16 or f32, on any device. type: "e4m3" or "s8".
    block: None for one scale a row, m of them. 128 for one for each row and 128 of k: m x ceil(k / 128) with contiguous columns, which gemm() reads beside
    8-bit floats alone.

    A scale is the largest magnitude divided by 448 (s8: by 127), or 1 if that is zero. Elements are rounded to the nearest, ties to even, and clamped to
    the range. In e4m3 NaN stays NaN and does not change the scale. s8 has no NaN, so a row with NaN gets the scale NaN. An infinity gets an infinite
    scale, which makes its row or block NaN.

    tilesmith.torch.quantize() and quantize_() do something else: they pack the weights of a model for products with 16-bit activations.
    """
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(x, torch.Tensor):
        raise TypeError(f"x is a {x.__class__.__module__}.{x.__class__.__qualname__}; expected a tensor of PyTorch")
    if type not in _LARGEST:
        raise ValueError(f"type is {type!r}; expected 'e4m3' or 's8'")
    if block not in (None, SCALE_BLOCK):
        raise ValueError(f"block is {block!r}; expected None or {SCALE_BLOCK}")
    if x.dim() != 2 or x.dtype not in (torch.float16, torch.bfloat16, torch.float32):
        raise ValueError(f"x is {shape_text(tuple(x.shape))} of {x.dtype}; expected m x k of float16, bfloat16 or float32")
    (rows, k), highest = x.shape, _LARGEST[type]
    count, each = (-(-k // block), block) if block else (1, max(k, 1))
    blocks = torch.nn.functional.pad(x.detach().float(), (0, count * each - k)).reshape(rows, count, each)
    sizes = blocks.abs() if type == "s8" else blocks.abs().nan_to_num(0.0, float("inf"))
    largest = sizes.amax(-1)
    scales = largest / torch.full_like(largest, highest)  # by a tensor: on a device, PyTorch multiplies by a number's reciprocal, which is less exact
    scales = torch.where(scales == 0, torch.ones_like(scales), scales)
    elements = (blocks / scales.unsqueeze(-1)).clamp(-highest, highest).reshape(rows, count * each)[:, :k]
    elements = elements.to(torch.float8_e4m3fn) if type == "e4m3" else elements.round().nan_to_num(0.0).to(torch.int8)
    return elements.contiguous(), scales.t().contiguous().t() if block else scales.reshape(rows)
