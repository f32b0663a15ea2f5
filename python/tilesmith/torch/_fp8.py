"""A linear layer in 8-bit floats, as the checkpoints of DeepSeek and Qwen have it: torch.ops.tilesmith.linear_fp8. For inference.

The weight has a scale for each 128x128 of it. The rows of x are rounded to e4m3 when they come, with a scale for each 128 columns.
"""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Tuple

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
from ._linear import check_offsets, check_operands, keep_types, launched
from ._operator import _library
from ._rounding import check_finite

_library.define("linear_fp8(Tensor x, Tensor weight, Tensor scales, Tensor? bias=None, Tensor? offsets=None) -> Tensor")

FP8 = "e4m3_128x128"  # the kind, as quantize_() has it
_LARGEST = 448.0
_SCALES = (torch.float32, torch.bfloat16, torch.float16, getattr(torch, "float8_e8m0fnu", torch.float32))  # the last from PyTorch 2.7 on


class Fp8Weights(NamedTuple):
    """weight: n x k of e4m3. scales: of 128x128 each, ceil(n / 128) x ceil(k / 128) of f32. Both are packed; those of experts lie one behind the other."""

    weight: Tensor
    scales: Tensor
    text: str = FP8
    zeros: None = None

    @property
    def n(self) -> int:
        return self.weight.shape[-2]

    @property
    def k(self) -> int:
        return self.weight.shape[-1]

    @property
    def codes(self) -> Tensor:
        return self.weight.view(torch.uint8)


def fp8_rounded(weight: Tensor) -> Fp8Weights:
    """Of a dense weight, n x k or experts x n x k. The scale of a block is its largest magnitude over 448, or 1 if that is zero."""
    check_finite(weight, "weight")
    n, k = weight.shape[-2:]
    expected = scales_shape(weight)
    rows, columns = (count * SCALE_BLOCK for count in expected[-2:])
    wide = torch.nn.functional.pad(weight.detach().float(), (0, columns - k, 0, rows - n))
    blocks = wide.reshape(*expected[:-1], SCALE_BLOCK, expected[-1], SCALE_BLOCK)
    scales = blocks.abs().amax((-3, -1)) / _LARGEST
    scales = torch.where(scales > 0, scales, torch.ones_like(scales))
    elements = (blocks / scales[..., None, :, None]).clamp(-_LARGEST, _LARGEST).reshape(wide.shape)[..., :n, :k]
    return Fp8Weights(elements.to(torch.float8_e4m3fn).contiguous(), scales)


def scales_shape(weight: Tensor) -> List[int]:
    return [*weight.shape[:-2], *(-(-extent // SCALE_BLOCK) for extent in weight.shape[-2:])]


def fp8_weights(parts: Mapping[str, Any], *_: Any, dimensions: int = 2) -> Fp8Weights:
    """Of a layer of a checkpoint. ValueError in one line if its parts are not of this format."""
    weight, scales = parts["weight"], parts["weight_scale_inv"]
    if weight.dim() != dimensions or weight.dtype is not torch.float8_e4m3fn:
        raise ValueError(f"weight is {list(weight.shape)} of {weight.dtype}; expected {'experts x ' if dimensions == 3 else ''}n x k of float8_e4m3fn")
    expected = scales_shape(weight)
    if list(scales.shape) != expected or scales.dtype not in _SCALES:
        raise ValueError(f"weight_scale_inv is {list(scales.shape)} of {scales.dtype}; expected {expected} of float32, bfloat16 or float8_e8m0fnu, "
                         "a scale for each 128x128")
    scales = scales.to(weight.device, torch.float32)
    if not bool(((scales >= 0) & scales.isfinite()).all()):
        raise ValueError("weight_scale_inv has NaN, infinities or numbers below 0; expected scales")
    return Fp8Weights(*(tensor.detach() if tensor.requires_grad else tensor for tensor in (weight.contiguous(), scales.contiguous())))


class Fp8Linear(torch.nn.Module):
    """torch.nn.Linear with a weight of e4m3. weight and weight_scale_inv are buffers, go where the module goes, and keep their types in .half() and .to()."""

    weight: Tensor
    weight_scale_inv: Tensor
    bias: Optional[Tensor]
    dimensions = 2

    def __init__(self, weight: Tensor, weight_scale_inv: Tensor, bias: Optional[Tensor] = None) -> None:
        super().__init__()
        made = fp8_weights({"weight": weight, "weight_scale_inv": weight_scale_inv}, dimensions=self.dimensions)
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
        return f"in_features={self.in_features}, out_features={self.out_features}, weights={FP8}, bias={self.bias is not None}"


class Fp8ExpertsLinear(Fp8Linear):
    """The same layer of all experts of a mixture: weight is experts x n x k, and weight_scale_inv has experts x ceil(n / 128) x ceil(k / 128) scales."""

    dimensions = 3

    @classmethod
    def from_dense(cls, weight: Tensor, bias: Optional[Tensor] = None) -> "Fp8ExpertsLinear":
        """Of experts x n x k, rounded to the nearest. The scale of a block is its largest magnitude over 448."""
        return cls(*fp8_rounded(weight)[:2], bias)

    def forward(self, x: Tensor, offsets: Tensor) -> Tensor:  # type: ignore[override]
        """x and offsets as of linear_experts()."""
        return torch.ops.tilesmith.linear_fp8(x, self.weight, self.weight_scale_inv, self.bias, offsets)

    def extra_repr(self) -> str:
        return f"experts={self.weight.shape[0]}, {super().extra_repr()}"


_problems: Dict[Tuple[Any, ...], Problem] = {}  # kept for good, as launched() wants them


def _call_of(rows: Tensor, of_rows: Tensor, weight: Tensor, scales: Tensor, bias: Optional[Tensor], offsets: Optional[Tensor],
             out: Tensor) -> Call:
    library, output = library_of(rows, "x"), type_name(out.dtype) or ""
    stream = adapter_of(rows, "x").stream(library.ordinal)
    bias_at, kind = bias_kind(bias, weight.shape[-2], output, stream)
    low = 16 | rows.data_ptr() | weight.data_ptr() | out.data_ptr()
    key = (id(library), rows.shape[0], *weight.shape, output, kind, low & -low)
    problem = _problems.get(key)
    if problem is None:
        problem = _problems[key] = Problem(type_pair("e4m3", "e4m3", output, None), "NT", rows.shape[0], *weight.shape[-2:], bias=kind, scale_m="1x128",
                                           scale_n="128x128", align_bytes=low & -low, groups=None if offsets is None else weight.shape[0])
    operands = [rows.data_ptr(), weight.data_ptr(), 0, out.data_ptr(), of_rows.data_ptr(), scales.data_ptr(), bias_at or 0,
                0 if offsets is None else offsets.data_ptr(), 0, 0, 0, 0, 0]
    return Call(library, stream, problem, operands, out)


def _by_kernels(x: Tensor, weight: Tensor, scales: Tensor, bias: Optional[Tensor] = None, offsets: Optional[Tensor] = None) -> Tensor:
    out = _fake(x, weight, scales, bias, offsets)
    if not out.numel():
        return out
    with torch.cuda.device(x.device) if x.is_cuda else contextlib.nullcontext():
        rows, of_rows = quantise(x.reshape(-1, x.shape[-1]), "e4m3", SCALE_BLOCK)
        launched("linear_fp8", _call_of(rows, of_rows, weight, scales, bias, offsets, out.view(-1, out.shape[-1])), x)
    return out


def _by_pytorch(x: Tensor, weight: Tensor, scales: Tensor, bias: Optional[Tensor] = None, offsets: Optional[Tensor] = None) -> Tensor:
    out = _fake(x, weight, scales, bias, offsets)
    rows, of_rows = quantise(x.reshape(-1, x.shape[-1]), "e4m3", SCALE_BLOCK)
    wide, begin = _dense(rows, of_rows), 0
    sums = wide.new_zeros(rows.shape[0], weight.shape[-2])
    for expert, end in enumerate([rows.shape[0]] if offsets is None else offsets.tolist()):
        w, of_w = (weight, scales) if offsets is None else (weight[expert], scales[expert])
        mine = slice(begin, max(begin, end))
        sums[mine] = wide[mine] @ _dense(w, of_w.repeat_interleave(SCALE_BLOCK, 0)[: w.shape[0]]).T + (0 if bias is None else bias)
        begin = mine.stop
    return sums.to(x.dtype).reshape(out.shape)


def _dense(elements: Tensor, scales: Tensor) -> Tensor:
    return elements.float() * scales.repeat_interleave(SCALE_BLOCK, 1)[:, : elements.shape[1]]


def _fake(x: Tensor, weight: Tensor, scales: Tensor, bias: Optional[Tensor] = None, offsets: Optional[Tensor] = None) -> Tensor:
    check_operands(x, weight.transpose(-1, -2), weight.shape[-1], bias)
    check_offsets(x, weight.shape[:-2], offsets)
    blocks = scales_shape(weight)
    torch._check(weight.dtype == torch.float8_e4m3fn and scales.dtype == torch.float32 and list(scales.shape) == blocks,
                 lambda: f"weight is of {weight.dtype} and scales {list(scales.shape)} of {scales.dtype}; expected float8_e4m3fn and {blocks} of float32")
    return x.new_empty((*x.shape[:-1], weight.shape[-2]))


_library.impl("linear_fp8", _by_kernels, "CUDA")
_library.impl("linear_fp8", _by_pytorch, "CPU")
_library.impl("linear_fp8", _fake, "Meta")
