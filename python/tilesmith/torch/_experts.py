"""Experts of a mixture with weights in 4 or 8 bits: torch.ops.tilesmith.linear_experts, one operator for all of them. For inference."""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Optional

import torch
from torch import Tensor

from .._activations import activation_of
from .._weighted import call_of
from ..weights import Weights
from ._linear import check_operands, dequantized, keep_types, launched, with_rows
from ._operator import _activated, _library
from ._rounding import quantize

_library.define("linear_experts(Tensor x, Tensor offsets, Tensor codes, Tensor scales, Tensor? zeros, str kind, int k, Tensor? bias=None, str? activation=None)"
                " -> Tensor")


def _check_layout(weights: Weights) -> None:
    if weights.a_bits == 8:
        raise ValueError("weights are packed for 8 bits; expected some for 16 bits: layers of experts have no activations")


def linear_experts(x: Tensor, offsets: Tensor, weights: Weights, bias: Optional[Tensor] = None, activation: Optional[str] = None) -> Tensor:
    """activation(x W_e^T + bias), x m x k of f16 or bf16, rows sorted by experts: those of expert e end at offsets[e] (int32, on x's device, which the
    host does not read). What stands in rows behind the last end is undefined. Before a stream is captured, run it once."""
    _check_layout(weights)
    return torch.ops.tilesmith.linear_experts(x, offsets, weights.codes, weights.scales, weights.zeros, weights.text, weights.k, bias, activation)


class ExpertsLinear(torch.nn.Module):
    """The same layer of all experts of a mixture: codes, scales and zeros are buffers, and go where the module goes."""

    def __init__(self, weights: Weights, bias: Optional[Tensor] = None, activation: Optional[str] = None) -> None:
        super().__init__()
        activation_of(activation)  # which raises ValueError
        _check_layout(weights)
        if weights.experts is None:
            raise ValueError("weights are one matrix; expected those of experts, made of arrays with a dimension more")
        self.experts, self.in_features, self.out_features, self.kind, self.activation = weights.experts, weights.k, weights.n, weights.text, activation
        self.register_buffer("codes", weights.codes)
        self.register_buffer("scales", weights.scales)
        self.register_buffer("zeros", weights.zeros)
        self.register_buffer("bias", bias)

    @classmethod
    def from_dense(cls, weight: Tensor, kind: str = "s4_g128", *, bias: Optional[Tensor] = None, activation: Optional[str] = None) -> "ExpertsLinear":
        """Of experts x n x k of f16 or bf16, rounded (tilesmith.torch.quantize)."""
        if weight.dim() != 3:
            raise ValueError(f"weight has {weight.dim()} dimensions; expected 3, experts x n x k")
        return cls(quantize(weight, kind), bias, activation)

    def _apply(self, fn: Callable[..., Any], recurse: bool = True) -> Any:
        keep_types(self, ("scales", "zeros") if self.kind.endswith("+f32") else (), lambda: super(ExpertsLinear, self)._apply(fn, recurse))
        return self

    def forward(self, x: Tensor, offsets: Tensor) -> Tensor:
        return torch.ops.tilesmith.linear_experts(x, offsets, self.codes, self.scales, self.zeros, self.kind, self.in_features, self.bias, self.activation)

    def extra_repr(self) -> str:
        return (f"experts={self.experts}, in_features={self.in_features}, out_features={self.out_features}, weights={self.kind}, "
                f"bias={self.bias is not None}")


def _by_kernels(x: Tensor, offsets: Tensor, codes: Tensor, scales: Tensor, zeros: Optional[Tensor], kind: str, k: int, bias: Optional[Tensor] = None,
                activation: Optional[str] = None) -> Tensor:
    _fake(x, offsets, codes, scales, zeros, kind, k, bias, activation)
    weights, rows = Weights.of_tensors(kind, scales.shape[-1], k, codes, scales, zeros), with_rows(x)
    with torch.cuda.device(x.device) if x.is_cuda else contextlib.nullcontext():
        return launched("linear_experts", call_of(rows, weights, None, bias, activation, None, None, offsets), x)


def _by_pytorch(x: Tensor, offsets: Tensor, codes: Tensor, scales: Tensor, zeros: Optional[Tensor], kind: str, k: int, bias: Optional[Tensor] = None,
                activation: Optional[str] = None) -> Tensor:
    out, begin = _fake(x, offsets, codes, scales, zeros, kind, k, bias, activation).zero_(), 0
    for expert, end in enumerate(offsets.tolist()):
        rows = slice(begin, max(begin, end))
        w = dequantized(codes[expert], scales[expert], None if zeros is None else zeros[expert], kind, k, x.dtype)
        sums = x[rows].float() @ w.T
        out[rows] = _activated(sums if bias is None else sums + bias, activation).to(x.dtype)
        begin = rows.stop
    return out


def _fake(x: Tensor, offsets: Tensor, codes: Tensor, scales: Tensor, zeros: Optional[Tensor], kind: str, k: int, bias: Optional[Tensor] = None,
          activation: Optional[str] = None) -> Tensor:
    check_operands(x, scales, k, bias)
    torch._check(x.dim() == 2, lambda: f"x has {x.dim()} dimensions; expected 2, rows sorted by experts")
    torch._check(offsets.dtype == torch.int32 and offsets.shape == scales.shape[:1],
                 lambda: f"offsets is {list(offsets.shape)} of {offsets.dtype}; expected {scales.shape[0]} of int32, where the rows of each expert end")
    return x.new_empty((x.shape[0], activation_of(activation).columns(scales.shape[-1])))


_library.impl("linear_experts", _by_kernels, "CUDA")
_library.impl("linear_experts", _by_pytorch, "CPU")
_library.impl("linear_experts", _fake, "Meta")
