"""2:4 sparse weights in PyTorch: in the place of torch.sparse.to_sparse_semi_structured and of what multiplies by it."""

from __future__ import annotations

import contextlib
from typing import Any, Optional, Union

import torch
from torch import Tensor

from .. import sparse
from ..sparse import Sparse


def to_sparse_semi_structured(dense: Tensor) -> Sparse:
    """Of a weight, n x k on "cuda", what tilesmith.sparse.linear and SparseLinear multiply by. Raises ValueError where it is not 2:4 sparse:
    tilesmith.sparse.prune() makes it so."""
    return sparse.compress(dense.detach().contiguous())


class SparseLinear(torch.nn.Module):
    """act(x weight^T + bias), of a weight that is 2:4 sparse. For inference: the weight has no gradient."""

    values: Tensor
    metadata: Tensor
    bias: Optional[Tensor]

    def __init__(self, weight: Sparse, bias: Optional[Tensor] = None, activation: Optional[str] = None) -> None:
        super().__init__()
        self.out_features, self.in_features, self.dtype_name, self.activation = weight.rows, weight.k, weight.dtype, activation
        self.register_buffer("values", weight.values)
        self.register_buffer("metadata", weight.metadata)
        self.register_buffer("bias", bias)

    @classmethod
    def from_linear(cls, linear: torch.nn.Linear, *, prune: Union[bool, str] = False, activation: Optional[str] = None) -> "SparseLinear":
        """Of a Linear layer on "cuda". prune: True or "strips" first leaves of each 4 elements the 2 of largest magnitude; "tiles" what leaves the
        weight's transpose 2:4 sparse, too (tilesmith.sparse.prune)."""
        weight = linear.weight.detach().contiguous()
        if prune is not False:
            weight = sparse.prune(weight, by="strips" if prune is True else prune)
        return cls(to_sparse_semi_structured(weight), None if linear.bias is None else linear.bias.detach(), activation)

    @property
    def weight(self) -> Sparse:
        return Sparse(self.values, self.metadata, self.out_features, self.in_features, self.dtype_name)

    def forward(self, x: Tensor) -> Tensor:
        torch._check(x.dim() > 0 and x.shape[-1] == self.in_features, lambda: f"x is {list(x.shape)}; expected {self.in_features} columns, the layer's in_features")
        rows = x.reshape(-1, self.in_features)
        guard: Any = torch.cuda.device(x.device) if x.is_cuda else contextlib.nullcontext()
        with guard:
            return sparse.linear(rows, self.weight, self.bias, activation=self.activation).reshape(*x.shape[:-1], self.out_features)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"
