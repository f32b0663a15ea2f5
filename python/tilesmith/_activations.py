"""Activations as a table, one row each. The numbers are those of tilesmith.h."""

from __future__ import annotations

from typing import Any, Callable, Dict, NamedTuple, Optional


class Activation(NamedTuple):
    number: int
    by_pytorch: Callable[[Any, Any], Any]  # of torch.nn.functional and x
    is_gate: bool = False  # two columns of the product make one of D

    def columns(self, n: int) -> int:
        """Of D, where the product has n."""
        return n // 2 if self.is_gate else n


ACTIVATIONS: Dict[Optional[str], Activation] = {
    None: Activation(0, lambda f, x: x),
    "relu": Activation(1, lambda f, x: f.relu(x)),
    "gelu": Activation(2, lambda f, x: f.gelu(x)),
    "gelu_tanh": Activation(3, lambda f, x: f.gelu(x, approximate="tanh")),
    "silu": Activation(4, lambda f, x: f.silu(x)),
    "swiglu": Activation(5, lambda f, x: f.silu(x.chunk(2, -1)[0]) * x.chunk(2, -1)[1], is_gate=True),
    "swiglu_interleaved": Activation(6, lambda f, x: f.silu(x[..., 0::2]) * x[..., 1::2], is_gate=True),
    "relu_squared": Activation(7, lambda f, x: f.relu(x).square()),
}


def activation_of(name: Optional[str]) -> Activation:
    try:
        return ACTIVATIONS[name]
    except (KeyError, TypeError):
        raise ValueError(f"activation is {name!r}; expected {', '.join(map(repr, ACTIVATIONS))}") from None
