"""An opened database or bundle, for one device, and the products that it computes."""

from __future__ import annotations

import ctypes
import os
from typing import Any, Callable, Iterable, List, Optional, Sequence, Union

from . import _abi
from ._arrays import adapter_of_type
from ._extra import operands_of
from ._plan import Explanation, Plan
from ._problem import Problem, problems_of
from ._products import Products, allocate
from ._types import whole

Path = Union[str, "os.PathLike[str]"]

_byref, _run_bytes = ctypes.byref, _abi.run_bytes

class Library(Products):
    """A tuned database or bundle, opened for reading, and the kernels loaded for it. Use it in a `with`, or close() it: after every product
    and every CUDA graph that holds one has ended. Plans stay usable. May be used by several threads at a time."""

    _kind = "library"

    def __init__(self, path: Optional[Path] = None, device: int = 0, *, allow_compile: bool = True, log_misses: bool = False,
                 trial_budget: int = 0, trial_database: Optional[Path] = None, family_dirs: Sequence[Path] = (),
                 early_in_graphs: bool = False, _default: bool = False) -> None:
        super().__init__()
        self._lib = lib = _abi.load()
        options = _abi.COptions(
            ctypes.sizeof(_abi.COptions), whole(device, "device", 32), bool(allow_compile), bool(log_misses),
            whole(trial_budget, "trial_budget", 32), None if trial_database is None else os.fsencode(trial_database),
            ":".join(str(os.fspath(folder)) for folder in family_dirs).encode() or None, bool(early_in_graphs))
        handle = ctypes.c_void_p()
        if _default:
            _abi.check(lib.tilesmith_open_default_with_options(_byref(options), _byref(handle)))
        else:
            _abi.check(lib.tilesmith_open_with_options(None if path is None else os.fsencode(path), _byref(options), _byref(handle)))
        self._handle = handle.value
        self.path: Optional[Path] = os.fsdecode(lib.tilesmith_database(handle)) or None
        self.ordinal = device
        self._gemm = lib.tilesmith_gemm

    @classmethod
    def open_default(cls, device: int = 0, **options: Any) -> "Library":
        """Opens $TILESMITH_DB if it is set, else your own database, else the bests that ship for this device or the one most like it; `path` is
        what was opened, None: no records. options: as for Library()."""
        return cls(None, device, **options, _default=True)

    def _destroy(self, handle: int) -> None:
        self._lib.tilesmith_close(handle)

    def __repr__(self) -> str:
        return f"<tilesmith.Library {self.path or 'without a database'} on {'nothing, it is closed' if self.closed else self.device}>"

    @property
    def device(self) -> str:
        """As which device the records are looked up: "NVIDIA H200/sm_90/132SM/..."."""
        return self._lib.tilesmith_device(self.handle).decode()

    def gemm(self, a: Any, b: Any, out: Any = None, *, alpha: Any = 1.0, beta: Any = 0.0, c: Any = None, bias: Any = None,
             activation: Optional[str] = None, scale_m: Any = None, scale_n: Any = None, offsets: Any = None, compute: Optional[str] = None,
             out_dtype: Any = None, stream: Any = None) -> Any:
        """tilesmith.gemm by this library, which must be opened for the operands' device."""
        return self.run(a, b, out, alpha, beta, c, bias, activation, scale_m, scale_n, offsets, compute, out_dtype, stream)

    def run(self, a: Any, b: Any, out: Any, alpha: Any, beta: Any, c: Any, bias: Any, activation: Optional[str], scale_m: Any, scale_n: Any,
            offsets: Any, compute: Optional[str], out_dtype: Any, stream: Any) -> Any:
        """gemm() with all its arguments in a row, which costs less."""
        prepared, extra, stream, pa, pb, pd = self.find(a, b, out, alpha, beta, c, bias, activation, scale_m, scale_n, offsets, compute,
                                                        out_dtype, stream)
        if stream is None:
            stream = adapter_of_type(type(a)).stream(self.ordinal)
        if out is None:
            out, pd = allocate(a, prepared)
        if extra is None and alpha == 1:
            operands, held = (pa, pb, 0, pd, 0, 0, 0, 0, 0, 0, 0, 0, 0), None
        else:
            operands, held = operands_of(prepared, extra, alpha, beta, pa, pb, pd)
        status = self._gemm(self._handle, stream, prepared.address, _run_bytes(operands))
        if status:
            _abi.check(status)
        return out

    def prepare(self, a: Any, b: Any, out: Any = None, **as_gemm: Any) -> None:
        """Does what the first gemm() with such operands would do, but for the launch. Call it, or gemm(), before you capture a stream."""
        call = self.look_up(a, b, out, as_gemm)
        _abi.check(self._lib.tilesmith_prepare(self.handle, call.stream, call.prepared.address))

    def prepare_all(self, problems: Union[Path, Iterable[Union[Problem, str]]], progress: Optional[Callable[[int, int, str], Any]] = None) -> None:
        """Makes the plans of many problems, and compiles the kernels that they need side by side, on all cores that the process may use.

        problems: Problems, lines of a workload, or the path of a workload file. progress: called once for each problem with how many are done, of
        how many, and the text of the last; by any thread, one at a time. A problem that fails stops no other; the first failure is raised at the end.
        """
        asked = problems_of(problems)
        raised: List[BaseException] = []

        def tell(_user: Any, done: int, total: int, text: bytes) -> None:
            try:
                if progress is not None and not raised:
                    progress(done, total, text.decode())
            except BaseException as why:  # it cannot pass through the library
                raised.append(why)

        callback = _abi.PROGRESS(tell)
        self._lib.tilesmith_set_progress_callback(callback, None)
        try:
            status = self._lib.tilesmith_prepare_all(self.handle, (_abi.CProblem * len(asked))(*(one.c for one in asked)), len(asked))
        finally:
            self._lib.tilesmith_set_progress_callback(_abi.PROGRESS(), None)
        if raised:
            raise raised[0]
        _abi.check(status)

    def problem(self, a: Any, b: Any, out: Any = None, **as_gemm: Any) -> Problem:
        """The problem that gemm() with such operands would run."""
        return self.look_up(a, b, out, as_gemm).prepared.problem

    def plan(self, a: Any, b: Any = None, out: Any = None, **as_gemm: Any) -> Plan:
        """A plan of a Problem, or of such operands as gemm() takes. Takes from a millisecond to seconds, if its kernel is compiled."""
        problem = a if isinstance(a, Problem) else self.problem(a, b, out, **as_gemm)
        return Plan(self, problem)

    def explain(self, a: Any, b: Any = None, out: Any = None, **as_gemm: Any) -> Explanation:
        """Which kernel would run, of a Problem or of such operands as gemm() takes, and why."""
        with self.plan(a, b, out, **as_gemm) as plan:
            return plan.explain()

    def clear_cache(self) -> None:
        """Destroys the plans and workspaces that gemm() keeps. Wait for every product and graph first."""
        self._lib.tilesmith_clear_cache(self.handle)
