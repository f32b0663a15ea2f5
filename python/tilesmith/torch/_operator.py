"""torch.ops.tilesmith.gemm: an operator with a fake kernel and a gradient, which torch.compile keeps as it is."""

from __future__ import annotations

import contextlib
from typing import Any, Optional

import torch
from torch import Tensor

from .. import _defaults
from .._activations import activation_of
from ._aten import f32_compute

_library = torch.library.Library("tilesmith", "DEF")
_library.define("gemm(Tensor a, Tensor b, Tensor? bias=None, str? activation=None, float alpha=1.0, ScalarType? out_dtype=None) -> Tensor")


def gemm(a: Tensor, b: Tensor, bias: Optional[Tensor] = None, activation: Optional[str] = None, alpha: float = 1.0,
         out_dtype: Optional[torch.dtype] = None) -> Tensor:
    """activation(alpha a b + bias) by our kernels, differentiable, and one operator for torch.compile. a and b have two dimensions, or three
    of a batch, one of them may have two; bias has one element a column. On other devices PyTorch computes it.

    activation: None, "relu", "gelu", "gelu_tanh", "silu", "relu_squared", "swiglu" or "swiglu_interleaved". f32 is multiplied as torch.backends.cuda.matmul
    says. Before a stream is captured, run it once.
    """
    return torch.ops.tilesmith.gemm(a, b, bias, activation, alpha, out_dtype)


def _by_kernels(a: Tensor, b: Tensor, bias: Optional[Tensor] = None, activation: Optional[str] = None, alpha: float = 1.0,
                out_dtype: Optional[torch.dtype] = None) -> Tensor:
    compute = f32_compute() if a.dtype is torch.float32 else None
    library = _defaults.library_of(a)
    with torch.cuda.device(a.device) if a.is_cuda else contextlib.nullcontext():
        return library.run(a, b, None, alpha, 0.0, None, bias, activation, None, None, None, compute, out_dtype, None)


def _activated(x: Tensor, activation: Optional[str]) -> Tensor:
    return activation_of(activation).by_pytorch(torch.nn.functional, x)


def _by_pytorch(a: Tensor, b: Tensor, bias: Optional[Tensor] = None, activation: Optional[str] = None, alpha: float = 1.0,
                out_dtype: Optional[torch.dtype] = None) -> Tensor:
    """The same by PyTorch's operators, for devices that are not ours. Sums of types narrower than f32 are made in f32."""
    wide = torch.float64 if a.dtype is torch.float64 else torch.float32
    x = torch.matmul(a.to(wide), b.to(wide)) * alpha
    if bias is not None:
        x = x + bias
    return _activated(x, activation).to(out_dtype or _result_type(a)).contiguous()


def _result_type(a: Tensor) -> torch.dtype:
    if a.dtype in (torch.int8, torch.uint8):
        return torch.int32
    return torch.bfloat16 if a.dtype in (torch.float8_e4m3fn, torch.float8_e5m2) else a.dtype


def _fake(a: Tensor, b: Tensor, bias: Optional[Tensor] = None, activation: Optional[str] = None, alpha: float = 1.0,
          out_dtype: Optional[torch.dtype] = None) -> Tensor:
    columns = activation_of(activation).columns(b.shape[-1])
    torch._check(a.dim() in (2, 3) and b.dim() in (2, 3), lambda: f"a has {a.dim()} dimensions and b {b.dim()}; expected 2, or 3 of a batch")
    torch._check(a.shape[-1] == b.shape[-2], lambda: f"a is {tuple(a.shape)} and b {tuple(b.shape)}; expected as many columns of a as rows of b")
    batch = a.shape[:-2] or b.shape[:-2]
    return a.new_empty((*batch, a.shape[-2], columns), dtype=out_dtype or _result_type(a))


class _Gemm(torch.autograd.Function):
    """The ordinary formulas. The sums before an activation are made again rather than kept."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor, bias: Optional[Tensor], activation: Optional[str], alpha: float,
                out_dtype: Optional[torch.dtype]) -> Tensor:
        ctx.save_for_backward(a, b, bias)
        ctx.activation, ctx.alpha, ctx.out_dtype = activation, alpha, out_dtype
        with torch._C._AutoDispatchBelowAutograd():
            return torch.ops.tilesmith.gemm(a, b, bias, activation, alpha, out_dtype)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        a, b, bias = ctx.saved_tensors
        grad = grads[0]
        if ctx.activation is not None:
            with torch.enable_grad():
                x = torch.ops.tilesmith.gemm(a, b, bias, None, ctx.alpha, ctx.out_dtype).detach().requires_grad_()
                grad, = torch.autograd.grad(_activated(x, ctx.activation), x, grad)
        grad = grad.to(a.dtype)
        to_a = to_b = to_bias = None
        if ctx.needs_input_grad[0]:
            to_a = _summed_to(torch.matmul(grad, b.mT), a) * ctx.alpha
        if ctx.needs_input_grad[1]:
            to_b = _summed_to(torch.matmul(a.mT, grad), b) * ctx.alpha
        if bias is not None and ctx.needs_input_grad[2]:
            to_bias = grad.sum(dim=tuple(range(grad.dim() - 1))).reshape(bias.shape).to(bias.dtype)
        return to_a, to_b, to_bias, None, None, None


def _summed_to(grad: Tensor, operand: Tensor) -> Tensor:
    """Of an operand that served all entries of a batch: the sum of its entries' gradients."""
    return grad.sum(dim=0) if grad.dim() > operand.dim() else grad


def _differentiable(a: Tensor, b: Tensor, bias: Optional[Tensor] = None, activation: Optional[str] = None, alpha: float = 1.0,
                    out_dtype: Optional[torch.dtype] = None) -> Tensor:
    return _Gemm.apply(a, b, bias, activation, alpha, out_dtype)


_library.impl("gemm", _by_kernels, "CUDA")
_library.impl("gemm", _by_pytorch, "CPU")
_library.impl("gemm", _fake, "Meta")
_library.impl("gemm", _differentiable, "Autograd")
