"""A linear layer in 8-bit floats, as the checkpoints of DeepSeek and Qwen have it: torch.ops.tilesmith.linear_fp8. For inference.

The weight has a scale for each 128x128 of it. The rows of x are rounded to e4m3 when they come, with a scale for each 128 columns.
"""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Dict, Mapping, NamedTuple, Optional, Tuple

import torch
from torch import Tensor

from .._arrays import adapter_of
from .._defaults import library_of
from .._extra import bias_kind
from .._prepare import SCALE_BLOCK
from .._problem import Problem
from .._quantise import quantise
from .._types import type_name, type_pair
from .._weighted import Call
from ._linear import check_operands, keep_types, launched
from ._operator import _library

_library.define("linear_fp8(Tensor x, Tensor weight, Tensor scales, Tensor? bias=None) -> Tensor")


class Fp8Weights(NamedTuple):
    """weight: n x k of e4m3. scales: of 128x128 each, ceil(n / 128) x ceil(k / 128) of f32. Both are packed."""

    weight: Tensor
    scales: Tensor
    text: str = "e4m3_128x128"
    zeros: None = None

    @property
    def n(self) -> int:
        return self.weight.shape[0]

    @property
    def k(self) -> int:
        return self.weight.shape[1]

    @property
    def codes(self) -> Tensor:
        return self.weight.view(torch.uint8)


def fp8_weights(parts: Mapping[str, Any], *_: Any) -> Fp8Weights:
    """Of a layer of a checkpoint. ValueError in one line if its parts are not of this format."""
    weight, scales = parts["weight"], parts["weight_scale_inv"]
    if weight.dim() != 2 or weight.dtype is not torch.float8_e4m3fn:
        raise ValueError(f"weight is {list(weight.shape)} of {weight.dtype}; expected n x k of float8_e4m3fn")
    expected = [-(-extent // SCALE_BLOCK) for extent in weight.shape]
    if list(scales.shape) != expected or scales.dtype not in (torch.float32, torch.bfloat16, torch.float16):
        raise ValueError(f"weight_scale_inv is {list(scales.shape)} of {scales.dtype}; expected {expected} of float32 or bfloat16, a scale for each 128x128")
    scales = scales.to(weight.device, torch.float32)
    if not bool(((scales >= 0) & scales.isfinite()).all()):
        raise ValueError("weight_scale_inv has NaN, infinities or numbers below 0; expected scales")
    return Fp8Weights(*(tensor.detach() if tensor.requires_grad else tensor for tensor in (weight.contiguous(), scales.contiguous())))


class Fp8Linear(torch.nn.Module):
    """torch.nn.Linear with a weight of e4m3. weight and weight_scale_inv are buffers, go where the module goes, and keep their types in .half() and .to()."""

    weight: Tensor
    weight_scale_inv: Tensor
    bias: Optional[Tensor]

    def __init__(self, weight: Tensor, weight_scale_inv: Tensor, bias: Optional[Tensor] = None) -> None:
        super().__init__()
        made = fp8_weights({"weight": weight, "weight_scale_inv": weight_scale_inv})
        self.in_features, self.out_features = made.k, made.n
        self.register_buffer("weight", made.weight)
        self.register_buffer("weight_scale_inv", made.scales)
        self.register_buffer("bias", bias)

    def _apply(self, fn: Callable[..., Any], recurse: bool = True) -> Any:
        keep_types(self, ("weight", "weight_scale_inv"), lambda: super(Fp8Linear, self)._apply(fn, recurse))
        return self

    def forward(self, x: Tensor) -> Tensor:
        return torch.ops.tilesmith.linear_fp8(x, self.weight, self.weight_scale_inv, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, weights=e4m3_128x128, bias={self.bias is not None}"


_problems: Dict[Tuple[Any, ...], Problem] = {}  # kept for good, as launched() wants them


def _call_of(rows: Tensor, of_rows: Tensor, weight: Tensor, scales: Tensor, bias: Optional[Tensor], out: Tensor) -> Call:
    library, output = library_of(rows, "x"), type_name(out.dtype) or ""
    stream = adapter_of(rows, "x").stream(library.ordinal)
    bias_at, kind = bias_kind(bias, weight.shape[0], output, stream)
    low = 16 | rows.data_ptr() | weight.data_ptr() | out.data_ptr()
    key = (id(library), rows.shape[0], *weight.shape, output, kind, low & -low)
    problem = _problems.get(key)
    if problem is None:
        problem = _problems[key] = Problem(type_pair("e4m3", "e4m3", output, None), "NT", rows.shape[0], *weight.shape, bias=kind, scale_m="1x128",
                                           scale_n="128x128", align_bytes=low & -low)
    operands = [rows.data_ptr(), weight.data_ptr(), 0, out.data_ptr(), of_rows.data_ptr(), scales.data_ptr(), bias_at or 0, 0, 0, 0, 0, 0, 0]
    return Call(library, stream, problem, operands, out)


def _by_kernels(x: Tensor, weight: Tensor, scales: Tensor, bias: Optional[Tensor] = None) -> Tensor:
    out = _fake(x, weight, scales, bias)
    if not out.numel():
        return out
    with torch.cuda.device(x.device) if x.is_cuda else contextlib.nullcontext():
        rows, of_rows = quantise(x.reshape(-1, x.shape[-1]), "e4m3", SCALE_BLOCK)
        launched("linear_fp8", _call_of(rows, of_rows, weight, scales, bias, out.view(-1, out.shape[-1])), x)
    return out


def _by_pytorch(x: Tensor, weight: Tensor, scales: Tensor, bias: Optional[Tensor] = None) -> Tensor:
    out = _fake(x, weight, scales, bias)
    rows, of_rows = quantise(x.reshape(-1, x.shape[-1]), "e4m3", SCALE_BLOCK)
    sums = _dense(rows, of_rows) @ _dense(weight, scales.repeat_interleave(SCALE_BLOCK, 0)[: weight.shape[0]]).T
    return (sums if bias is None else sums + bias).to(x.dtype).reshape(out.shape)


def _dense(elements: Tensor, scales: Tensor) -> Tensor:
    return elements.float() * scales.repeat_interleave(SCALE_BLOCK, 1)[:, : elements.shape[1]]


def _fake(x: Tensor, weight: Tensor, scales: Tensor, bias: Optional[Tensor] = None) -> Tensor:
    check_operands(x, weight.t(), weight.shape[1], bias)
    blocks = [-(-extent // SCALE_BLOCK) for extent in weight.shape]
    torch._check(weight.dtype == torch.float8_e4m3fn and scales.dtype == torch.float32 and list(scales.shape) == blocks,
                 lambda: f"weight is of {weight.dtype} and scales {list(scales.shape)} of {scales.dtype}; expected float8_e4m3fn and {blocks} of float32")
    return x.new_empty((*x.shape[:-1], weight.shape[0]))


_library.impl("linear_fp8", _by_kernels, "CUDA")
_library.impl("linear_fp8", _by_pytorch, "CPU")
_library.impl("linear_fp8", _fake, "Meta")
