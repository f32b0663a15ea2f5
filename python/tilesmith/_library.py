"""An opened database or bundle, for one device, and the products that it computes."""

from __future__ import annotations

import ctypes
import os
from typing import Any, Dict, NamedTuple, Optional, Sequence, Tuple, Union

from . import _abi, _dlpack
from ._arrays import DLPACK, adapter_of, adapter_of_type, look, stream_number, view_of
from ._closing import Closing
from ._extra import EXTRA_VIEWS, NUMBERS, Extra, check_scalar, extra_args
from ._plan import Explanation, Plan
from ._prepare import Layouts, Prepared, prepare
from ._problem import Problem
from ._types import whole

Path = Union[str, "os.PathLike[str]"]

_byref = ctypes.byref
# Layouts that are kept. A program with more of them forgets all, and prepares anew.
MOST_PREPARED = 4096


class Call(NamedTuple):
    """A product, looked up: what it needs and where its operands are."""

    prepared: Prepared
    out: Any
    stream: int
    a: int
    b: int
    d: int
    args: Optional[_abi.CRunArgs]


class _Refused(NamedTuple):
    """What prepare() said of layouts that are no product."""

    error: Exception


class Library(Closing):
    """A tuned database or bundle, opened for reading, and the kernels loaded for it. Use it in a `with`, or close() it: after every product
    and every CUDA graph that holds one has ended. Plans stay usable. May be used by several threads at a time."""

    _kind = "library"

    def __init__(self, path: Optional[Path] = None, device: int = 0, *, allow_compile: bool = True, log_misses: bool = False,
                 trial_budget: int = 0, trial_database: Optional[Path] = None, family_dirs: Sequence[Path] = (),
                 early_in_graphs: bool = False) -> None:
        self._lib = lib = _abi.load()
        options = _abi.COptions()
        _abi.check(lib.tilesmith_options_init(_byref(options), ctypes.sizeof(options)))
        options.device, options.allow_compile, options.log_misses = whole(device, "device", 32), bool(allow_compile), bool(log_misses)
        options.trial_budget, options.early_in_graphs = whole(trial_budget, "trial_budget", 32), bool(early_in_graphs)
        options.trial_database = None if trial_database is None else os.fsencode(trial_database)
        options.family_dirs = ":".join(str(os.fspath(folder)) for folder in family_dirs).encode() or None
        handle = ctypes.c_void_p()
        _abi.check(lib.tilesmith_open_with_options(None if path is None else os.fsencode(path), _byref(options), _byref(handle)))
        self._handle = handle.value
        self.path = None if path is None else os.fspath(path)
        self.ordinal = device
        self._gemm, self._gemm_args = lib.tilesmith_gemm, lib.tilesmith_gemm_args
        self._prepared: Dict[Any, Any] = {}  # Prepared, or _Refused

    def _destroy(self, handle: int) -> None:
        self._lib.tilesmith_close(handle)

    def __repr__(self) -> str:
        return f"<tilesmith.Library {self.path or 'without a database'} on {'nothing, it is closed' if self.closed else self.device}>"

    @property
    def device(self) -> str:
        """As which device the evidence is looked up: "NVIDIA H200/sm_90/132SM/..."."""
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
        if prepared.plain:
            one = prepared.one_address if alpha == 1 else _byref(prepared.scalar_of(alpha))
            other = prepared.zero_address if beta == 0 else _byref(prepared.scalar_of(beta))
            status = self._gemm(self._handle, stream, prepared.address, one, pa, pb, other, pd)
        else:
            status = self._gemm_args(self._handle, stream, prepared.address, _byref(extra_args(prepared, extra, alpha, beta, pa, pb, pd)))
        if status:
            _abi.check(status)
        return out

    def prepare(self, a: Any, b: Any, out: Any = None, **as_gemm: Any) -> None:
        """Does what the first gemm() with such operands would do, but for the launch. Call it, or gemm(), before you capture a stream."""
        call = self.look_up(a, b, out, as_gemm)
        _abi.check(self._lib.tilesmith_prepare(self.handle, call.stream, call.prepared.address))

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

    def look_up(self, a: Any, b: Any, out: Any, given: Dict[str, Any]) -> Call:
        """A call of gemm() with the arguments by name, before it launches. For Plan."""
        known: Dict[str, Any] = dict(alpha=1.0, beta=0.0, c=None, bias=None, activation=None, scale_m=None, scale_n=None, offsets=None,
                                     compute=None, out_dtype=None, stream=None)
        unknown = set(given) - set(known)
        if unknown:
            raise TypeError(f"unknown argument {sorted(unknown)[0]}; expected {', '.join(known)}")
        known.update(given)
        prepared, extra, stream, pa, pb, pd = self.find(a, b, out, *known.values())
        if stream is None:
            stream = adapter_of_type(type(a)).stream(self.ordinal)
        if out is None:
            out, pd = allocate(a, prepared)
        args = None if prepared.plain else extra_args(prepared, extra, known["alpha"], known["beta"], pa, pb, pd)
        return Call(prepared, out, stream, pa, pb, pd, args)

    def find(self, a: Any, b: Any, out: Any, alpha: Any, beta: Any, c: Any, bias: Any, activation: Optional[str], scale_m: Any, scale_n: Any,
             offsets: Any, compute: Optional[str], out_dtype: Any, stream: Any
             ) -> Tuple[Prepared, Optional[Extra], Optional[int], int, int, int]:
        """What gemm() needs, in tuples, since every call does this: prepared, extra, the stream if one is given, and the addresses of a and b
        in the order of the problem, and of out if it is there."""
        if stream is not None and (type(stream) is not int or stream < 0):
            stream = stream_number(stream)
        adapter = adapter_of(a, "a")
        pa, ka = adapter.look(a) if adapter is not DLPACK else _dlpack.look(a, stream, "a")
        pb, kb = adapter.look(b) if type(b) is type(a) and adapter is not DLPACK else look(b, "b", stream)
        pd, kd = (0, None) if out is None else look(out, "out", stream)
        extra = None
        if (c is not None or bias is not None or scale_m is not None or scale_n is not None or offsets is not None
                or type(alpha) not in NUMBERS or type(beta) not in NUMBERS or beta != 0):
            extra = Extra(out, pd, stream, c, bias, scale_m, scale_n, offsets, alpha, beta)
        key = (ka, kb, kd, activation, compute, out_dtype, (pa | pb | pd) & 15, extra and extra.key, type(a), type(b), type(out))
        prepared = self._prepared.get(key)
        if prepared is None:
            prepared = self._prepare(key, a, b, out, extra)
        elif type(prepared) is _Refused:
            raise type(prepared.error)(*prepared.error.args)
        if prepared.swapped:
            pa, pb = pb, pa
        return prepared, extra, stream, pa, pb, pd

    def _prepare(self, key: Any, a: Any, b: Any, out: Any, extra: Optional[Extra]) -> Prepared:
        if len(self._prepared) >= MOST_PREPARED:
            self._prepared.clear()
        try:
            prepared = self._prepare_now(key, a, b, out, extra)
        except (TypeError, ValueError) as why:
            self._prepared[key] = _Refused(why.with_traceback(None))
            raise
        self._prepared[key] = prepared
        return prepared

    def _prepare_now(self, key: Any, a: Any, b: Any, out: Any, extra: Optional[Extra]) -> Prepared:
        ka, kb, kd, activation, compute, out_dtype, low_bits = key[:7]
        views: Dict[str, Any] = {"a": view_of(type(a), ka, "a"), "b": view_of(type(b), kb, "b")}
        views["out"] = None if out is None else view_of(type(out), kd, "out")
        views.update(extra.views() if extra is not None else dict.fromkeys(EXTRA_VIEWS))
        for name, view in views.items():
            if view is not None and view.device not in (None, self.ordinal):
                raise ValueError(f"{name} is on device {view.device}; expected device {self.ordinal}, for which the library is opened")
        if extra is not None:
            low_bits |= extra.c_address & 15
        one, other = views.pop("alpha", None), views.pop("beta", None)
        prepared = prepare(Layouts(
            **views, activation=activation, compute=compute, out_dtype=out_dtype, reads_c=extra is not None and extra.reads_c,
            device_scalars=extra is not None and extra.device_scalars, align_bytes=(16 | low_bits) & -(16 | low_bits)))
        check_scalar(one, "alpha", prepared.problem.type)
        check_scalar(other, "beta", prepared.problem.type)
        return prepared


def allocate(like: Any, prepared: Prepared) -> Tuple[Any, int]:
    """out, as the operands' library makes it, and its address."""
    adapter = adapter_of_type(type(like))
    out = adapter.empty(like, prepared.out_shape, prepared.out_dtype)
    return out, adapter.look(out)[0]
