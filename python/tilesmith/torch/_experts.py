"""Experts of a mixture with weights in 4 or 8 bits: torch.ops.tilesmith.linear_experts, one operator for all of them. For inference."""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Optional

import torch
from torch import Tensor

from .._activations import activation_of
from .._quantise import quantise
from .._weighted import call_of
from ..weights import Weights
from ._linear import check_activations, check_offsets, check_operands, dequantized, keep_types, launched, with_rows
from ._operator import _activated, _library
from ._rounding import quantize

_library.define("linear_experts(Tensor x, Tensor offsets, Tensor codes, Tensor scales, Tensor? zeros, str kind, int k, Tensor? bias=None, str? activation=None, "
                "str? activations=None) -> Tensor")


def linear_experts(x: Tensor, offsets: Tensor, weights: Weights, bias: Optional[Tensor] = None, activation: Optional[str] = None,
                   activations: Optional[str] = None) -> Tensor:
    """activation(x W_e^T + bias), x m x k of f16 or bf16, rows sorted by experts: those of expert e end at offsets[e] (int32, on x's device, which the
    host does not read). What stands in rows behind the last end is undefined. activations: as of linear(). Before a stream is captured, run it once."""
    check_activations(weights, activations)
    return torch.ops.tilesmith.linear_experts(x, offsets, weights.codes, weights.scales, weights.zeros, weights.text, weights.k, bias, activation, activations)


class ExpertsLinear(torch.nn.Module):
    """The same layer of all experts of a mixture: codes, scales and zeros are buffers, and go where the module goes. activations as of Linear."""

    def __init__(self, weights: Weights, bias: Optional[Tensor] = None, activation: Optional[str] = None, activations: Optional[str] = None) -> None:
        super().__init__()
        activation_of(activation)  # which raises ValueError
        check_activations(weights, activations)
        self.activations = activations
        if weights.experts is None:
            raise ValueError("weights are one matrix; expected those of experts, made of arrays with a dimension more")
        self.experts, self.in_features, self.out_features, self.kind, self.activation = weights.experts, weights.k, weights.n, weights.text, activation
        self.register_buffer("codes" if activations is None else "codes_a8", weights.codes)
        self.register_buffer("scales", weights.scales)
        self.register_buffer("zeros", weights.zeros)
        self.register_buffer("bias", bias)

    @classmethod
    def from_dense(cls, weight: Tensor, kind: str = "s4_g128", *, bias: Optional[Tensor] = None, activation: Optional[str] = None,
                   activations: Optional[str] = None) -> "ExpertsLinear":
        """Of experts x n x k of f16 or bf16, rounded (tilesmith.torch.quantize)."""
        if weight.dim() != 3:
            raise ValueError(f"weight has {weight.dim()} dimensions; expected 3, experts x n x k")
        return cls(quantize(weight, kind, activations), bias, activation, activations)

    def _apply(self, fn: Callable[..., Any], recurse: bool = True) -> Any:
        keep_types(self, ("scales", "zeros") if self.kind.endswith("+f32") else (), lambda: super(ExpertsLinear, self)._apply(fn, recurse))
        return self

    def forward(self, x: Tensor, offsets: Tensor) -> Tensor:
        codes = self.codes if self.activations is None else self.codes_a8
        return torch.ops.tilesmith.linear_experts(x, offsets, codes, self.scales, self.zeros, self.kind, self.in_features, self.bias, self.activation,
                                                  self.activations)

    def extra_repr(self) -> str:
        of = "" if self.activations is None else f", activations={self.activations}"
        return (f"experts={self.experts}, in_features={self.in_features}, out_features={self.out_features}, weights={self.kind}{of}, "
                f"bias={self.bias is not None}")


def _by_kernels(x: Tensor, offsets: Tensor, codes: Tensor, scales: Tensor, zeros: Optional[Tensor], kind: str, k: int, bias: Optional[Tensor] = None,
                activation: Optional[str] = None, activations: Optional[str] = None) -> Tensor:
    out = _fake(x, offsets, codes, scales, zeros, kind, k, bias, activation)
    weights, rows = Weights.of_tensors(kind, scales.shape[-1], k, codes, scales, zeros, 16 if activations is None else 8), with_rows(x)
    with torch.cuda.device(x.device) if x.is_cuda else contextlib.nullcontext():
        elements, of_rows = (rows, None) if activations is None else quantise(rows, activations)
        return launched("linear_experts", call_of(elements, weights, out, bias, activation, None, None, offsets, of_rows), x)


def _by_pytorch(x: Tensor, offsets: Tensor, codes: Tensor, scales: Tensor, zeros: Optional[Tensor], kind: str, k: int, bias: Optional[Tensor] = None,
                activation: Optional[str] = None, activations: Optional[str] = None) -> Tensor:
    out, begin = _fake(x, offsets, codes, scales, zeros, kind, k, bias, activation).zero_(), 0
    wide = x.float()
    if activations is not None:
        elements, of_rows = quantise(x, activations)
        wide = elements.float() * of_rows.unsqueeze(1)
    for expert, end in enumerate(offsets.tolist()):
        rows = slice(begin, max(begin, end))
        w = dequantized(codes[expert], scales[expert], None if zeros is None else zeros[expert], kind, k, x.dtype, activations)
        sums = wide[rows] @ w.T
        out[rows] = _activated(sums if bias is None else sums + bias, activation).to(x.dtype)
        begin = rows.stop
    return out


def _fake(x: Tensor, offsets: Tensor, codes: Tensor, scales: Tensor, zeros: Optional[Tensor], kind: str, k: int, bias: Optional[Tensor] = None,
          activation: Optional[str] = None, activations: Optional[str] = None) -> Tensor:
    check_operands(x, scales, k, bias)
    check_offsets(x, scales.shape[:-2], offsets)
    return x.new_empty((x.shape[0], activation_of(activation).columns(scales.shape[-1])))


_library.impl("linear_experts", _by_kernels, "CUDA")
_library.impl("linear_experts", _by_pytorch, "CPU")
_library.impl("linear_experts", _fake, "Meta")
