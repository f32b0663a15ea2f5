"""Plans: a problem's kernel, chosen and loaded."""

from __future__ import annotations

import ctypes
from typing import Any, List, NamedTuple, Optional

from . import _abi
from ._closing import Closing
from ._problem import Problem
from ._products import Products


class Explanation(NamedTuple):
    """Where a plan's config came from. Times are in microseconds, 0 where there are none."""

    level: str  # "exact", "trial", "model" or "generic"
    config: str
    reason: str
    measured: str
    trust: str
    kernel: str
    median_us: float
    predicted_us: float
    vendor_us: float  # cuBLASLt's first choice, timed beside median_us on this device
    vendor_best_us: float  # the fastest of what its heuristic offered

    def __str__(self) -> str:
        time = f", {self.median_us:.2f} us" if self.median_us else f", {self.predicted_us:.2f} us predicted" if self.predicted_us else ""
        return f"{self.level}: {self.config}{time} ({self.reason})"


class Plan(Closing):
    """Use it in a `with`, or close() it: only when its runs, and every CUDA graph that holds one, have ended."""

    _kind = "plan"

    def __init__(self, library: Products, problem: Problem) -> None:
        self._lib = _abi.load()
        self._library = library
        self.problem = problem
        handle = ctypes.c_void_p()
        _abi.check(self._lib.tilesmith_plan_create(library.handle, problem.address, ctypes.byref(handle)))
        self._handle = handle.value

    def _destroy(self, handle: int) -> None:
        self._lib.tilesmith_plan_destroy(handle)

    @property
    def workspace_bytes(self) -> int:
        """Device memory, aligned to 256 bytes, that a run needs; 0 of most plans."""
        size = ctypes.c_uint64()
        _abi.check(self._lib.tilesmith_plan_workspace_bytes(self.handle, ctypes.byref(size)))
        return size.value

    def reserve_workspace(self) -> None:
        """Lets the plan own its workspace. Then at most one run may be in flight."""
        _abi.check(self._lib.tilesmith_plan_reserve_workspace(self.handle))

    def explain(self) -> Explanation:
        found = _abi.CExplanation()
        _abi.check(self._lib.tilesmith_plan_explain(self.handle, ctypes.byref(found)))
        texts: List[str] = [getattr(found, name).decode(errors="replace") for name in Explanation._fields[:6]]
        return Explanation._make([*texts, found.median_us, found.predicted_us, found.vendor_us, found.vendor_best_us])

    def run(self, a: Any, b: Any, out: Any = None, *, workspace: Optional[int] = None, **as_gemm: Any) -> Any:
        """Enqueues the launches and nothing else. The operands must be those of the plan's problem, laid out and aligned so.
        workspace: an address, where the plan needs one and owns none."""
        call = self._library.look_up(a, b, out, as_gemm)
        if call.prepared.problem != self.problem:
            raise ValueError(f"the operands are of {call.prepared.problem}; expected {self.problem}, of the plan")
        _abi.check(self._lib.tilesmith_plan_run(self.handle, call.stream, _abi.run_bytes(call.operands, workspace or 0)))
        return call.out
