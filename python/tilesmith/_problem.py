"""A GEMM problem as tilesmith.h has it."""

from __future__ import annotations

import ctypes
import os
import re
from typing import Any, Iterable, List, Optional, Union

from . import _abi
from ._activations import activation_of
from ._errors import Error
from ._types import encoded, whole

BIASES = {None: (0, 0), "n": (1, 0), "m": (2, 0), "n_f32": (1, 1), "m_f32": (2, 1)}
SCALINGS = {None: 0, "one": 1, "each": 2, "1x128": 3, "128x128": 4}
SPARSITIES = {None: 0, "a": 1, "b": 2}


def _number_of(name: Optional[str], known: dict, what: str) -> Any:
    try:
        return known[name]
    except (KeyError, TypeError):
        raise ValueError(f"{what} is {name!r}; expected {', '.join(map(repr, known))}") from None


_WEIGHT = re.compile(r"[0-9.]+(e[+-]?[0-9]+)?", re.IGNORECASE)


def problems_of(given: "Union[str, os.PathLike[str], Iterable[Union[Problem, str]]]") -> "List[Problem]":
    """Of a workload file, or of Problems and lines of one. Raises Error, and OSError where there is no such file."""
    if isinstance(given, (str, os.PathLike)):
        with open(given, encoding="utf-8") as file:
            lines = [line.partition("#")[0].strip() for line in file]
        given = [line for line in lines if line and line.split()[0] != "weights"]
    return [one if isinstance(one, Problem) else Problem.parse(one) for one in given]


class Problem:
    """One GEMM problem, row-major: D <- act(r c^T o alpha op(A) op(B) + beta C + bias). Immutable once made.

    type: a type pair, "f16f32f16". transposes: "NN", "NT", "TN", "TT". lda, ldb, ldc: row strides in elements, 0: packed. beta: whether it may
    be other than 0. bias: "n", "m", "n_f32", "m_f32". scale_m, scale_n: "one", "each"; of both "1x128" or
    "128x128", of blocks along K. batch: entries of a strided batch, whose strides are
    packed where they are -1. groups: rows of A and D split among so many B. weights: "s4_g128", "u4_g64+zeros", ..., how B is stored
    (tilesmith.weights); with groups, each group's. sparsity: "a" or "b", of which half of K is stored (tilesmith.sparse). align_bytes: of every
    address. Problems that differ only in what has no effect, such as the row stride of a single row, are equal. `str(problem)` is text(), which
    raises Error if the library does not accept the problem, as every use does. Needs the shared library, and no device.
    """

    __slots__ = ("c", "address", "_text")

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
        self.c = c = _abi.CProblem(
            ctypes.sizeof(_abi.CProblem), encoded(type, "type", "f16f32f16", 15), encoded(transposes, "transposes", "NT", 7), whole(m, "m"), whole(n, "n"),
            whole(k, "k"), whole(lda, "lda"), whole(ldb, "ldb"), whole(ldc, "ldc"), 1, whole(stride_a, "stride_a"), whole(stride_b, "stride_b"),
            whole(stride_c, "stride_c"), whole(align_bytes, "align_bytes", 32))
        if groups is not None:
            c.batch_mode, c.batch = _abi.GROUPED, whole(groups, "groups")
        elif batch is not None:
            c.batch_mode, c.batch = _abi.STRIDED, whole(batch, "batch")
        c.activation = activation_of(activation).number
        c.bias, c.bias_is_f32 = _number_of(bias, BIASES, "bias")
        c.scale_m, c.scale_n = _number_of(scale_m, SCALINGS, "scale_m"), _number_of(scale_n, SCALINGS, "scale_n")
        c.sparsity = _number_of(sparsity, SPARSITIES, "sparsity")
        c.beta_is_zero, c.c_is_apart, c.scalars_on_device = not beta, c_is_apart, device_scalars
        if weights is not None:
            c.weights = encoded(weights, "weights", "s4_g128", 23)
        self._text: Optional[str] = None
        self.address = ctypes.byref(c)

    @classmethod
    def parse(cls, line: str) -> "Problem":
        """The problem of a line of a workload file, "bf16f32bf16 NT 16 4096 4096 epilogue=bias_n"; a weight in it is left out. Raises Error."""
        words = [word for i, word in enumerate(line.split()) if i < 5 or not _WEIGHT.fullmatch(word)]
        problem = cls("", "", 0, 0, 0)
        _abi.check(_abi.load().tilesmith_problem_parse(problem.address, " ".join(words).encode()))
        return problem

    @property
    def type(self) -> str:
        return self.c.type.decode()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to multiply."""
        return 0 in (self.c.m, self.c.n, self.c.k, self.c.batch)

    def text(self) -> str:
        """A line of a workload file, the same for problems that differ only in what is never used. Raises Error if the library does not accept it."""
        if self._text is None:
            line = ctypes.create_string_buffer(512)
            _abi.check(_abi.load().tilesmith_problem_text(self.address, line, len(line)))
            self._text = line.value.decode()
        return self._text

    @property
    def is_refused(self) -> bool:
        """Whether the library does not accept it; text() says why."""
        try:
            return not self.text()
        except Error:
            return True

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        try:
            return f"<tilesmith.Problem {self.text()}>"
        except Error as why:
            return f"<tilesmith.Problem that is refused: {why}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Problem) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def _identity(self) -> Union[str, bytes]:
        return bytes(self.c) if self.is_refused else self.text()
