"""Which products of a running model are served, by what plan, and how often each was asked for."""

from __future__ import annotations

import threading
from typing import Any, Dict, FrozenSet, Iterable, Optional, Tuple, Union

import torch

from .. import _abi
from .._defaults import default_library
from .._errors import Error
from .._extra import operands_of
from .._library import Library
from .._plan import Plan
from .._prepare import Prepared
from .._problem import Problem

LEVELS = ("exact", "trial", "model")  # "generic" is a plain kernel: PyTorch's is faster


class _Entry:
    """A product that came up: its plan, or why it goes to PyTorch."""

    __slots__ = ("problem", "plan", "handle", "workspace_bytes", "reason", "calls")

    def __init__(self, problem: Problem, plan: Optional[Plan], reason: str) -> None:
        self.problem, self.plan, self.reason, self.calls = problem, plan, reason, 0
        self.handle = plan.handle if plan is not None else None
        self.workspace_bytes = plan.workspace_bytes if plan is not None else 0


class Serving:
    """levels: from where a plan's config may come ("exact", "trial", "model", "generic"). May be used by several threads."""

    def __init__(self, library: Optional[Library] = None, levels: Iterable[str] = LEVELS) -> None:
        self.levels: FrozenSet[str] = frozenset((levels,) if isinstance(levels, str) else levels)
        if not self.levels <= {"exact", "trial", "model", "generic"}:
            raise ValueError(f"levels are {sorted(self.levels)}; expected some of 'exact', 'trial', 'model', 'generic'")
        self._library = library
        self._entries: Dict[Prepared, _Entry] = {}
        self._others: Dict[int, Tuple[Problem, int]] = {}  # calls of operators of our own, by problems, which those keep
        self._lock = threading.Lock()
        self.served: Dict[str, int] = {}
        self.forwarded: Dict[Tuple[str, str], int] = {}
        lib = _abi.load()
        self._run = lib.tilesmith_plan_run

    def library(self, ordinal: int) -> Library:
        given = self._library
        if given is not None and given.ordinal == max(ordinal, 0):
            return given
        return default_library(max(ordinal, 0))

    def product(self, op: str, a: torch.Tensor, b: torch.Tensor, out: Optional[torch.Tensor] = None, *, alpha: Any = 1.0, beta: Any = 0.0,
                c: Any = None, bias: Any = None, activation: Optional[str] = None, scale_m: Any = None, scale_n: Any = None, offsets: Any = None,
                compute: Optional[str] = None, out_dtype: Any = None) -> Optional[torch.Tensor]:
        """The result, enqueued on the current stream; None if PyTorch is to compute it, with the reason counted."""
        device = a.get_device()
        if device >= 0 and device != torch._C._cuda_getDevice():  # its context has to be the current one
            with torch.cuda.device(device):
                return self.product(op, a, b, out, alpha=alpha, beta=beta, c=c, bias=bias, activation=activation, scale_m=scale_m,
                                    scale_n=scale_n, offsets=offsets, compute=compute, out_dtype=out_dtype)
        try:
            library = self.library(device)
            prepared, extra, _, pa, pb, pd = library.find(a, b, out, alpha, beta, c, bias, activation, scale_m, scale_n, offsets, compute,
                                                          out_dtype, None)
            entry = self._entries.get(prepared) or self._plan(prepared, library)
        except (TypeError, ValueError, Error) as why:
            return self.forward(op, str(why))
        entry.calls += 1
        if entry.handle is None:
            return self.forward(op, entry.reason)
        workspace = None
        if out is None:
            out = a.new_empty(prepared.out_shape, dtype=_dtype(prepared.out_dtype))
            pd = out.data_ptr()
        if entry.workspace_bytes:
            # Of PyTorch's own allocator: in a stream's order, and part of a graph's memory while it is captured.
            workspace = a.new_empty(entry.workspace_bytes + 255, dtype=torch.uint8)
        at = 0 if workspace is None else (workspace.data_ptr() + 255) & -256
        stream = torch._C._cuda_getCurrentRawStream(device) if device >= 0 else 0
        if extra is None and alpha == 1:
            operands, held = (pa, pb, 0, pd, 0, 0, 0, 0, 0, 0, 0, 0, 0), None
        else:
            operands, held = operands_of(prepared, extra, alpha, beta, pa, pb, pd)
        status = self._run(entry.handle, stream, _abi.run_bytes(operands, at))
        if status:
            return self.forward(op, _abi.load().tilesmith_last_error().decode(errors="replace"))
        self.served[op] = self.served.get(op, 0) + 1
        return out

    def count(self, op: str, problem: Problem) -> None:
        """A product that an operator of our own computes. problem: one object for each shape, kept for good."""
        self._others[id(problem)] = problem, self._others.get(id(problem), (problem, 0))[1] + 1
        self.served[op] = self.served.get(op, 0) + 1

    def forward(self, op: str, reason: str) -> Optional[torch.Tensor]:
        """None, for PyTorch computes this op; the reason is counted."""
        key = op, reason
        self.forwarded[key] = self.forwarded.get(key, 0) + 1
        return None

    def _plan(self, prepared: Prepared, library: Library) -> _Entry:
        with self._lock:
            entry = self._entries.get(prepared)
            if entry is None:
                if torch.cuda.is_available() and torch.cuda.is_current_stream_capturing():
                    raise Error("its stream is captured, and there is no plan yet; expected a run before the capture")
                entry = self._entries[prepared] = self._choose(prepared.problem, library)
            return entry

    def _choose(self, problem: Problem, library: Library) -> _Entry:
        if problem.is_empty:
            return _Entry(problem, None, "nothing to multiply")
        try:
            plan = Plan(library, problem)
        except Error as why:
            return _Entry(problem, None, str(why))
        found = plan.explain()
        if found.level not in self.levels:
            plan.close()
            return _Entry(problem, None, f"its kernel is of the level {found.level}")
        if 0 < found.vendor_us <= found.median_us:
            plan.close()
            return _Entry(problem, None, "cuBLASLt was as fast or faster")
        return _Entry(problem, plan, "")

    def problems(self) -> Dict[Problem, int]:
        """The problems that came up, served or not, and how often: a workload for tilesmith.tune(). Without those that the library refuses, which
        stats() counts with the reason."""
        counted: Dict[Problem, int] = {}
        for problem, calls in list(self._others.values()):
            counted[problem] = counted.get(problem, 0) + calls
        for entry in list(self._entries.values()):
            if entry.calls and not entry.problem.is_empty and not entry.problem.is_refused:
                counted[entry.problem] = counted.get(entry.problem, 0) + entry.calls
        return counted

    def reset(self) -> None:
        """Sets all counts to zero."""
        self.served.clear()
        self.forwarded.clear()
        self._others.clear()
        for entry in list(self._entries.values()):
            entry.calls = 0

    def stats(self) -> Dict[str, Dict[str, Union[int, Dict[str, int]]]]:
        """{"served": {op: calls}, "forwarded": {op: {reason: calls}}}"""
        forwarded: Dict[str, Any] = {}
        for (op, reason), calls in list(self.forwarded.items()):
            forwarded.setdefault(op, {})[reason] = calls
        return {"served": dict(self.served), "forwarded": forwarded}


_DTYPES: Dict[str, torch.dtype] = {
    "f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "s32": torch.int32, "s8": torch.int8,
    "e4m3": torch.float8_e4m3fn,
}


def _dtype(name: str) -> torch.dtype:
    return _DTYPES[name]
