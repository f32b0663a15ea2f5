"""A linear layer with weights in 4 to 8 bits: torch.ops.tilesmith.linear_weights, which torch.compile keeps as one operator. For inference."""

from __future__ import annotations

import contextlib
import threading
from typing import Any, Callable, Dict, Iterable, Optional, Sequence, Tuple

import torch
from torch import Tensor

from .. import _abi
from .._activations import activation_of
from .._errors import Error
from .._quantise import quantise
from .._plan import Plan
from .._weighted import Call, call_of
from .._weights import K_QUANTS
from ..weights import Weights
from . import _enabled
from ._operator import _activated, _library
from ._rounding import TABLES, check_name, quantize

_library.define("linear_weights(Tensor x, Tensor codes, Tensor scales, Tensor? zeros, str kind, int k, Tensor? bias=None, str? activation=None, "
                "str? activations=None) -> Tensor")


def linear(x: Tensor, weights: Weights, bias: Optional[Tensor] = None, activation: Optional[str] = None, activations: Optional[str] = None) -> Tensor:
    """activation(x W^T + bias), x (..., k) of f16 or bf16, by weights that tilesmith.weights made of tensors. On other devices PyTorch
    computes it. activations: None, or "e4m3" or "s8" with weights that were packed for 8 bits: each row of x is rounded to that. Before a stream is
    captured, run it once."""
    check_activations(weights, activations)
    return torch.ops.tilesmith.linear_weights(x, weights.codes, weights.scales, weights.zeros, weights.text, weights.k, bias, activation, activations)


def check_activations(weights: Weights, activations: Optional[str]) -> None:
    check_name(activations)
    if (activations is not None) != (weights.a_bits == 8):
        raise ValueError("weights are packed for 8 bits; expected activations='e4m3' or 's8'" if activations is None else
                         f"weights are packed for 16 bits; expected some of dtype={activations!r} with activations={activations!r}")


def keep_types(module: torch.nn.Module, names: Iterable[str], apply: Callable[[], Any]) -> None:
    """Moves a module's tensors as .half(), .to() and others do, but those of these buffers keep their types."""
    before = {name: module._buffers[name] for name in names}
    apply()
    for name, old in before.items():
        new = module._buffers[name]
        if old is not None and new is not None and new.dtype != old.dtype:
            module._buffers[name] = old.to(new.device)


class Linear(torch.nn.Module):
    """torch.nn.Linear with such weights: codes, scales and zeros are buffers, and go where the module goes. Scales and zeros of a kind with +f32 stay f32 in
    .half() and .to(). With activations the codes' buffer is codes_a8, since they lie in another order: no state of one order loads into the other."""

    def __init__(self, weights: Weights, bias: Optional[Tensor] = None, activation: Optional[str] = None, activations: Optional[str] = None) -> None:
        super().__init__()
        activation_of(activation)  # which raises ValueError
        check_activations(weights, activations)
        self.activations = activations
        self.in_features, self.out_features, self.kind, self.activation = weights.k, weights.n, weights.text, activation
        self.register_buffer("codes" if activations is None else "codes_a8", weights.codes)
        self.register_buffer("scales", weights.scales)
        self.register_buffer("zeros", weights.zeros)
        self.register_buffer("bias", bias)

    @classmethod
    def from_linear(cls, linear: torch.nn.Linear, kind: str = "s4_g128", *, activation: Optional[str] = None, activations: Optional[str] = None) -> "Linear":
        """Of a Linear layer, whose weight is rounded (tilesmith.torch.quantize)."""
        return cls(quantize(linear.weight, kind, activations), None if linear.bias is None else linear.bias.detach(), activation, activations)

    def _apply(self, fn: Callable[..., Any], recurse: bool = True) -> Any:
        keep_types(self, ("scales", "zeros") if self.kind.endswith("+f32") else (), lambda: super(Linear, self)._apply(fn, recurse))
        return self

    def forward(self, x: Tensor) -> Tensor:
        codes = self.codes if self.activations is None else self.codes_a8
        return torch.ops.tilesmith.linear_weights(x, codes, self.scales, self.zeros, self.kind, self.in_features, self.bias, self.activation, self.activations)

    def extra_repr(self) -> str:
        of = "" if self.activations is None else f", activations={self.activations}"
        return f"in_features={self.in_features}, out_features={self.out_features}, weights={self.kind}{of}, bias={self.bias is not None}"


def _of_six_bits(blocks: Tensor, scales: Tensor, zeros: Tensor) -> Tensor:
    rows, across, n = *blocks.shape[:2], scales.shape[1]
    lower, upper = blocks[..., :512], blocks[..., 512:]
    lower = torch.stack((lower & 15, lower >> 4), dim=-1).reshape(rows, across, 8, 4, 4, 2, 2, 2)  # as below
    upper = torch.stack([upper >> bit & 3 for bit in (0, 2, 4, 6)], dim=-1).reshape(rows, across, 8, 4, 2, 2, 2, 2, 2)  # g, t, pair of steps, hi, step, rows, columns
    code = lower.permute(0, 7, 2, 1, 4, 6, 3, 5).reshape(rows * 16, -1).float() + upper.permute(0, 7, 2, 1, 4, 6, 8, 3, 5).reshape(rows * 16, -1) * 16
    scale = scales.contiguous().view(torch.int8).reshape(across, n, 4).transpose(1, 2).reshape(-1, n)  # one for 16 columns
    factor = zeros.contiguous().view(torch.float16).float().repeat_interleave(16, 0) * scale
    return (code[:n] - 32) * factor.repeat_interleave(16, 0).T


def dequantized(codes: Tensor, scales: Tensor, zeros: Optional[Tensor], kind: str, k: int, dtype: torch.dtype = torch.float32,
                activations: Optional[str] = None) -> Tensor:
    """W as f32, n x k, of codes in the layout that kernels read. dtype: x's, to which values of nf4 are rounded. activations: "e4m3" or "s8" of weights that were
    packed for 8 bits."""
    n, type = scales.shape[1], kind if kind in K_QUANTS else kind.split("_")[0]
    four = type in ("s4", "u4", "e2m1", "nf4", *K_QUANTS)
    columns = 64 if four else 32
    rows, across = -(-n // 16), -(-k // columns)
    if type == "q6_k" and zeros is not None:
        return _of_six_bits(codes.reshape(rows, across, 768), scales, zeros)[:n]
    if activations is not None:
        pairs = codes.reshape(rows, across, 8, 4, 4, 2, 2)  # g, t, 16 columns, half of rows, pair
        pairs = torch.stack((pairs & 15, pairs >> 4), dim=-1)
        order: Tuple[int, ...] = (0, 5, 2, 1, 4, 3, 6, 7)
    elif four:
        pairs = torch.stack((codes & 15, codes >> 4), dim=-1).reshape(rows, across, 8, 4, 4, 2, 2, 2)  # g, t, step, hi, half of columns, of rows
        order = (0, 7, 2, 1, 4, 6, 3, 5)
    else:
        pairs = codes.reshape(rows, across, 8, 4, 2, 2, 2, 2)  # g, t, step, half of columns, of rows, hi
        order = (0, 6, 2, 1, 4, 5, 3, 7)
    code = pairs.permute(order).reshape(rows * 16, across * columns)[:n, :k]
    if type == "q4_k" and zeros is not None:
        factors = zeros.contiguous().view(torch.float16).float().reshape(-1, n, 2).repeat_interleave(8, 0)
        scale, minimum = (factors[..., 0] * (scales & 255), factors[..., 1] * (scales >> 8))
        return code.float() * scale.repeat_interleave(32, 0).T - minimum.repeat_interleave(32, 0).T
    if type == "e4m3":
        value = code.contiguous().view(torch.float8_e4m3fn).float()
    elif type in TABLES:
        value = torch.tensor(TABLES[type], device=code.device).to(dtype).float()[code.long()]
    else:
        value = code.float() - {"s4": 8, "u4": 0, "s8": 128}[type]
    each = k // scales.shape[0]
    if zeros is not None:
        value = value - zeros.float().repeat_interleave(each, 0).T
    return value * scales.float().repeat_interleave(each, 0).T


def check_operands(x: Tensor, scales: Tensor, k: int, bias: Optional[Tensor]) -> None:
    """RuntimeError in one line, as torch.nn.Linear's, where x or the bias has another width than the layer."""
    n = scales.shape[-1]
    torch._check(x.dtype in (torch.float16, torch.bfloat16), lambda: f"x is {x.dtype}; expected float16 or bfloat16")
    torch._check(x.dim() > 0 and x.shape[-1] == k, lambda: f"x is {list(x.shape)}; expected {k} columns, the layer's in_features")
    torch._check(bias is None or bias.shape == (n,), lambda: f"bias is {[] if bias is None else list(bias.shape)}; expected [{n}], the layer's out_features")


def check_offsets(x: Tensor, experts: Sequence[int], offsets: Optional[Tensor]) -> None:
    """RuntimeError in one line where a layer of experts, one number, has no rows sorted by them, or one without experts has offsets."""
    torch._check((offsets is None) == (len(experts) == 0), lambda: f"the weights have {len(experts) + 2} dimensions; expected 2, or 3 and offsets")
    if offsets is not None:
        torch._check(x.dim() == 2, lambda: f"x has {x.dim()} dimensions; expected 2, rows sorted by experts")
        torch._check(offsets.dtype == torch.int32 and offsets.shape == tuple(experts) and offsets.is_contiguous(),
                     lambda: f"offsets is {list(offsets.shape)} of {offsets.dtype}; expected {experts[0]} of int32, where the rows of each expert end")


def with_rows(x: Tensor) -> Tensor:
    """Rows that are contiguous and do not overlap, as kernels read them."""
    return x if x.stride(-1) == 1 and x.stride(0) >= x.shape[1] else x.contiguous()


_plans: Dict[int, Tuple[Plan, int]] = {}  # and the bytes of their workspaces, by problems, which are kept; a captured graph may hold them
_lock = threading.Lock()


def _plan_of(call: Call) -> Tuple[Plan, int]:
    with _lock:
        known = _plans.get(id(call.problem))
        if known is None:
            if torch.cuda.is_available() and torch.cuda.is_current_stream_capturing():
                raise Error("its stream is captured, and there is no plan yet; expected a run before the capture")
            plan = Plan(call.library, call.problem)
            known = _plans[id(call.problem)] = plan, plan.workspace_bytes
        return known


def launched(name: str, call: Call, x: Tensor) -> Tensor:
    """What an operator's call makes, by the plan of its problem."""
    plan, bytes = _plans.get(id(call.problem)) or _plan_of(call)
    at = 0
    if bytes:  # Of PyTorch's own allocator: in a stream's order, and part of a graph's memory while it is captured.
        workspace = x.new_empty(bytes + 255, dtype=torch.uint8)
        at = (workspace.data_ptr() + 255) & -256
    _abi.check(_abi.load().tilesmith_plan_run(plan.handle, call.stream, _abi.run_bytes(call.operands, at)))
    serving = _enabled.current()
    if serving is not None:
        serving.count(name, call.problem)
    return call.out


_MOST_GATED_ROWS = 64


def _gates_apart(rows: Tensor, activation: Optional[str]) -> bool:
    """Whether PyTorch applies the gate. On Hopper the kernels that gate beside weights are not the fastest for many rows."""
    return (activation_of(activation).is_gate and rows.shape[0] > _MOST_GATED_ROWS and rows.is_cuda
            and torch.cuda.get_device_capability(rows.device)[0] == 9)


def _by_kernels(x: Tensor, codes: Tensor, scales: Tensor, zeros: Optional[Tensor], kind: str, k: int, bias: Optional[Tensor] = None,
                activation: Optional[str] = None, activations: Optional[str] = None) -> Tensor:
    check_operands(x, scales, k, bias)
    weights, rows = Weights.of_tensors(kind, scales.shape[1], k, codes, scales, zeros, 16 if activations is None else 8), with_rows(x.reshape(-1, k))
    apart = activation if _gates_apart(rows, activation) else None
    activation = None if apart else activation
    with torch.cuda.device(x.device) if x.is_cuda else contextlib.nullcontext():
        if activations is None:
            call = call_of(rows, weights, None, bias, activation, None, None)
        else:
            elements, of_rows = quantise(rows, activations)
            out = x.new_empty((rows.shape[0], activation_of(activation).columns(weights.n)))
            call = call_of(elements, weights, out, bias, activation, None, None, None, of_rows)
        out = _activated(launched("linear_weights", call, x), apart)
    return out.reshape(*x.shape[:-1], out.shape[-1])


def _by_pytorch(x: Tensor, codes: Tensor, scales: Tensor, zeros: Optional[Tensor], kind: str, k: int, bias: Optional[Tensor] = None,
                activation: Optional[str] = None, activations: Optional[str] = None) -> Tensor:
    check_operands(x, scales, k, bias)
    rows = x.float()
    if activations is not None:
        elements, of_rows = quantise(x.reshape(-1, k), activations)
        rows = (elements.float() * of_rows.unsqueeze(1)).reshape(x.shape)
    sums = rows @ dequantized(codes, scales, zeros, kind, k, x.dtype, activations).T
    if bias is not None:
        sums = sums + bias
    return _activated(sums, activation).to(x.dtype).contiguous()


def _fake(x: Tensor, codes: Tensor, scales: Tensor, zeros: Optional[Tensor], kind: str, k: int, bias: Optional[Tensor] = None,
          activation: Optional[str] = None, activations: Optional[str] = None) -> Tensor:
    check_operands(x, scales, k, bias)
    columns = activation_of(activation).columns(scales.shape[1])
    return x.new_empty((*x.shape[:-1], columns))


_library.impl("linear_weights", _by_kernels, "CUDA")
_library.impl("linear_weights", _by_pytorch, "CPU")
_library.impl("linear_weights", _fake, "Meta")
