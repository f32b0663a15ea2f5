"""A linear layer with weights in 4 or 8 bits: torch.ops.tilesmith.linear_weights, which torch.compile keeps as one operator. For inference."""

from __future__ import annotations

import contextlib
from typing import Optional

import torch
from torch import Tensor

from .._problem import ACTIVATIONS
from ..weights import Weights, linear as _linear
from ._operator import _activated, _library

_library.define("linear_weights(Tensor x, Tensor codes, Tensor scales, Tensor? zeros, str kind, Tensor? bias=None, str? activation=None) -> Tensor")
_GATES = ("swiglu", "swiglu_interleaved")


def linear(x: Tensor, weights: Weights, bias: Optional[Tensor] = None, activation: Optional[str] = None) -> Tensor:
    """activation(x W^T + bias), x (..., k) of f16 or bf16, by weights that tilesmith.weights made of tensors. On other devices PyTorch
    computes it. Before a stream is captured, run it once."""
    return torch.ops.tilesmith.linear_weights(x, weights.codes, weights.scales, weights.zeros, weights.text, bias, activation)


class Linear(torch.nn.Module):
    """torch.nn.Linear with such weights: codes, scales and zeros are buffers, and go where the module goes."""

    def __init__(self, weights: Weights, bias: Optional[Tensor] = None, activation: Optional[str] = None) -> None:
        super().__init__()
        if activation not in ACTIVATIONS:
            raise ValueError(f"activation is {activation!r}; expected {', '.join(map(repr, ACTIVATIONS))}")
        self.in_features, self.out_features, self.kind, self.activation = weights.k, weights.n, weights.text, activation
        self.register_buffer("codes", weights.codes)
        self.register_buffer("scales", weights.scales)
        self.register_buffer("zeros", weights.zeros)
        self.register_buffer("bias", bias)

    def forward(self, x: Tensor) -> Tensor:
        return torch.ops.tilesmith.linear_weights(x, self.codes, self.scales, self.zeros, self.kind, self.bias, self.activation)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, weights={self.kind}, bias={self.bias is not None}"


def dequantized(codes: Tensor, scales: Tensor, zeros: Optional[Tensor], kind: str, k: int) -> Tensor:
    """W as f32, n x k, of codes in the layout that kernels read."""
    n, (type, rest) = scales.shape[1], kind.split("_", 1)
    four = type in ("s4", "u4")
    columns = 64 if four else 32
    rows, across = -(-n // 16), -(-k // columns)
    if four:
        pairs = torch.stack((codes & 15, codes >> 4), dim=-1).reshape(rows, across, 8, 4, 4, 2, 2, 2)  # g, t, step, hi, half of columns, of rows
        order = (0, 7, 2, 1, 4, 6, 3, 5)
    else:
        pairs = codes.reshape(rows, across, 8, 4, 2, 2, 2, 2)  # g, t, step, half of columns, of rows, hi
        order = (0, 6, 2, 1, 4, 5, 3, 7)
    code = pairs.permute(order).reshape(rows * 16, across * columns)[:n, :k]
    if type == "e4m3":
        value = code.contiguous().view(torch.float8_e4m3fn).float()
    else:
        value = code.float() - {"s4": 8, "u4": 0, "s8": 128}[type]
    each = k // scales.shape[0]
    if zeros is not None:
        value = value - zeros.float().repeat_interleave(each, 0).T
    return value * scales.float().repeat_interleave(each, 0).T


def _by_kernels(x: Tensor, codes: Tensor, scales: Tensor, zeros: Optional[Tensor], kind: str, bias: Optional[Tensor] = None,
                activation: Optional[str] = None) -> Tensor:
    weights = Weights.of_tensors(kind, scales.shape[1], x.shape[-1], codes, scales, zeros)
    rows = x.reshape(-1, x.shape[-1])
    if rows.stride(-1) != 1:
        rows = rows.contiguous()
    with torch.cuda.device(x.device) if x.is_cuda else contextlib.nullcontext():
        out = _linear(rows, weights, bias=bias, activation=activation)
    return out.reshape(*x.shape[:-1], out.shape[-1])


def _by_pytorch(x: Tensor, codes: Tensor, scales: Tensor, zeros: Optional[Tensor], kind: str, bias: Optional[Tensor] = None,
                activation: Optional[str] = None) -> Tensor:
    sums = x.float() @ dequantized(codes, scales, zeros, kind, x.shape[-1]).T
    if bias is not None:
        sums = sums + bias
    return _activated(sums, activation).to(x.dtype).contiguous()


def _fake(x: Tensor, codes: Tensor, scales: Tensor, zeros: Optional[Tensor], kind: str, bias: Optional[Tensor] = None,
          activation: Optional[str] = None) -> Tensor:
    torch._check(x.dtype in (torch.float16, torch.bfloat16), lambda: f"x is {x.dtype}; expected float16 or bfloat16")
    columns = scales.shape[1] // 2 if activation in _GATES else scales.shape[1]
    return x.new_empty((*x.shape[:-1], columns))


_library.impl("linear_weights", _by_kernels, "CUDA")
_library.impl("linear_weights", _by_pytorch, "CPU")
_library.impl("linear_weights", _fake, "Meta")
