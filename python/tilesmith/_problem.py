"""A GEMM problem as tilesmith.h has it, and as a line of a workload file."""

from __future__ import annotations

import ctypes
from typing import Optional, Union

from . import _abi
from ._types import encoded, whole

ACTIVATIONS = {None: 0, "relu": 1, "gelu": 2, "gelu_tanh": 3, "silu": 4, "swiglu": 5, "swiglu_interleaved": 6}
BIASES = {None: 0, "n": 1, "m": 2, "n_f32": 3, "m_f32": 4}
SCALINGS = {None: 0, "one": 1, "each": 2}
SPARSITIES = {None: 0, "a": 1, "b": 2}
_SCALING_WORDS = {0: "", 1: "1", 2: ""}  # of scale_m1, scale_m


def _number_of(name: Optional[str], known: dict, what: str) -> int:
    try:
        return known[name]
    except (KeyError, TypeError):
        raise ValueError(f"{what} is {name!r}; expected {', '.join(map(repr, known))}") from None


def activation_number(name: Optional[str]) -> int:
    return _number_of(name, ACTIVATIONS, "activation")


class Problem:
    """One GEMM problem, row-major: D <- act(r c^T o alpha op(A) op(B) + beta C + bias). Immutable once made.

    type: a type pair, "f16f32f16". transposes: "NN", "NT", "TN", "TT". lda, ldb, ldc: row strides in elements, 0: packed. beta: whether it may
    be other than 0. bias: "n", "m", "n_f32", "m_f32". scale_m, scale_n: "one", "each". batch: entries of a strided batch, whose strides are
    packed where they are -1. groups: rows of A and D split among so many B. weights: "s4_g128", "u4_g64+zeros", ..., how B is stored
    (tilesmith.weights); with groups, each group's. sparsity: "a" or "b", of which half of K is stored (tilesmith.sparse). align_bytes: of every address.
    `str(problem)` is a line of a workload file. Needs the shared library, and no device.
    """

    __slots__ = ("c", "address", "_held")

    def __init__(self, type: str, transposes: str, m: int, n: int, k: int, *, lda: int = 0, ldb: int = 0, ldc: int = 0, align_bytes: int = 16,
                 beta: bool = False, bias: Optional[str] = None, activation: Optional[str] = None, scale_m: Optional[str] = None,
                 scale_n: Optional[str] = None, c_is_apart: bool = False, device_scalars: bool = False, sparsity: Optional[str] = None,
                 batch: Optional[int] = None,
                 stride_a: int = _abi.PACKED, stride_b: int = _abi.PACKED, stride_c: int = _abi.PACKED, groups: Optional[int] = None,
                 weights: Optional[str] = None) -> None:
        if batch is not None and (groups is not None or weights is not None):
            raise ValueError("a batch and groups or weights are given; expected a batch alone")
        if weights is not None and groups is not None and stride_b != _abi.PACKED:
            raise ValueError(f"stride_b is {stride_b}; expected none of weights, which lie one behind the other")
        lib = _abi.load()
        texts = encoded(type, "type", "f16f32f16"), encoded(transposes, "transposes", "NT")
        m, n, k = whole(m, "m"), whole(n, "n"), whole(k, "k")
        weight_text = None if weights is None else encoded(weights, "weights", "s4_g128")
        held: Union[_abi.CProblem, _abi.CStridedBatch, _abi.CGrouped, _abi.CWeighted, _abi.CWeightedGrouped]
        if weights is not None and groups is not None:
            held = _abi.CWeightedGrouped()
            _abi.check(lib.tilesmith_weighted_grouped_init(ctypes.byref(held), *texts, m, n, k, weight_text, whole(groups, "groups")))
        elif weights is not None:
            held = _abi.CWeighted()
            _abi.check(lib.tilesmith_weighted_init(ctypes.byref(held), *texts, m, n, k, weight_text))
        elif groups is not None:
            held = _abi.CGrouped()
            _abi.check(lib.tilesmith_grouped_init(ctypes.byref(held), *texts, m, n, k, whole(groups, "groups")))
            held.stride_b = whole(stride_b, "stride_b")
        elif batch is not None:
            held = _abi.CStridedBatch()
            _abi.check(lib.tilesmith_strided_batch_init(ctypes.byref(held), *texts, m, n, k, whole(batch, "batch")))
            held.stride_a, held.stride_b, held.stride_c = whole(stride_a, "stride_a"), whole(stride_b, "stride_b"), whole(stride_c, "stride_c")
        else:
            held = _abi.CProblem()
            _abi.check(lib.tilesmith_problem_init(ctypes.byref(held), *texts, m, n, k))
        c = held if isinstance(held, _abi.CProblem) else held.problem
        c.lda, c.ldb, c.ldc = whole(lda, "lda"), whole(ldb, "ldb"), whole(ldc, "ldc")
        c.align_bytes, c.beta_is_zero = whole(align_bytes, "align_bytes", 32), not beta
        c.bias = _number_of(bias, BIASES, "bias")
        c.activation = activation_number(activation)
        c.scale_m = _number_of(scale_m, SCALINGS, "scale_m")
        c.scale_n = _number_of(scale_n, SCALINGS, "scale_n")
        c.sparsity = _number_of(sparsity, SPARSITIES, "sparsity")
        c.c_is_apart, c.scalars_on_device = c_is_apart, device_scalars
        self._held = held
        self.c = c
        self.address = ctypes.byref(held)

    @property
    def type(self) -> str:
        return self.c.type.decode()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to multiply."""
        c, held = self.c, self._held
        return 0 in (c.m, c.n, c.k, getattr(held, "count", 1), getattr(held, "groups", 1))

    def _epilogue_words(self) -> str:
        c = self.c
        words = ["scale_m" + _SCALING_WORDS[c.scale_m]] if c.scale_m else []
        words += ["scale_n" + _SCALING_WORDS[c.scale_n]] if c.scale_n else []
        words += [f"bias_{name}" for name, number in BIASES.items() if name and number == c.bias]
        words += [name for name, number in ACTIVATIONS.items() if name and number == c.activation]
        return "+".join(words) or ("c_apart" if c.c_is_apart else "")

    def __str__(self) -> str:
        c, held = self.c, self._held
        fields = [f"{name}={getattr(c, name)}" for name in ("lda", "ldb", "ldc") if getattr(c, name)]
        if c.align_bytes != 16:
            fields.append(f"align={c.align_bytes}")
        if not c.beta_is_zero:
            fields.append("beta=any")
        if isinstance(held, (_abi.CGrouped, _abi.CWeightedGrouped)):
            fields += [f"batch={held.groups}", "batch_mode=grouped"]
        if isinstance(held, _abi.CGrouped):
            fields += [f"stride_b={held.stride_b}"] if held.stride_b != _abi.PACKED else []
        elif isinstance(held, _abi.CStridedBatch):
            fields += [f"batch={held.count}", "batch_mode=strided"]
            fields += [f"{name}={getattr(held, name)}" for name in ("stride_a", "stride_b", "stride_c") if getattr(held, name) != _abi.PACKED]
        words = self._epilogue_words()
        if words:
            fields.append(f"epilogue={words}")
        if c.sparsity:
            fields.append(f"sparsity={'a' if c.sparsity == 1 else 'b'}_2to4")
        if c.scalars_on_device:
            fields.append("scalars=device")
        if isinstance(held, (_abi.CWeighted, _abi.CWeightedGrouped)):
            fields.append(f"weights={held.weights.decode()}")
        return " ".join([self.type, c.transposes.decode(), str(c.m), str(c.n), str(c.k), *fields])

    def __repr__(self) -> str:
        return f"<tilesmith.Problem {self}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Problem) and bytes(self._held) == bytes(other._held)

    def __hash__(self) -> int:
        return hash(bytes(self._held))
