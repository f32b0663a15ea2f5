"""From operands to what a call of the library needs: looked up by their layouts, prepared when they are new."""

from __future__ import annotations

from typing import Any, Dict, Hashable, List, NamedTuple, Optional, Tuple

from . import _dlpack
from ._arrays import DLPACK, adapter_of, adapter_of_type, look, stream_number, view_of
from ._closing import Closing
from ._extra import EXTRA_VIEWS, NUMBERS, Extra, check_scalar, operands_of
from ._prepare import Layouts, Prepared, prepare, view_of_weights
from ._weights import Weights

# Layouts that are kept. A program with more of them forgets all, and prepares anew.
MOST_PREPARED = 4096


class Call(NamedTuple):
    """A product, looked up: what it needs and where its operands are."""

    prepared: Prepared
    out: Any
    stream: int
    operands: List[int]  # in the order of _abi.OPERANDS
    held: Any


class _Refused(NamedTuple):
    """What prepare() said of layouts that are no product."""

    error: Exception


class Products(Closing):
    """The products of a library that is opened for the device `ordinal`. May be used by several threads at a time."""

    ordinal: int

    def __init__(self) -> None:
        self._prepared: Dict[Any, Any] = {}  # Prepared, or _Refused

    def look_up(self, a: Any, b: Any, out: Any, given: Dict[str, Any]) -> Call:
        """A call of gemm() with the arguments by name, before it launches."""
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
        return Call(prepared, out, stream, *operands_of(prepared, extra, known["alpha"], known["beta"], pa, pb, pd))

    def find(self, a: Any, b: Any, out: Any, alpha: Any, beta: Any, c: Any, bias: Any, activation: Optional[str], scale_m: Any, scale_n: Any,
             offsets: Any, compute: Optional[str], out_dtype: Any, stream: Any
             ) -> Tuple[Prepared, Optional[Extra], Optional[int], int, int, int]:
        """What gemm() needs, in tuples, since every call does this: prepared, extra, the stream if one is given, and the addresses of a and b
        in the order of the problem, and of out if it is there."""
        if stream is not None and (type(stream) is not int or stream < 0):
            stream = stream_number(stream)
        adapter = adapter_of(a, "a")
        pa, ka = adapter.look(a) if adapter is not DLPACK else _dlpack.look(a, stream, "a")
        weights = b if type(b) is Weights else None
        kb: Hashable
        if weights is not None:
            pb, kb = weights.addresses[0], weights.key
        else:
            pb, kb = adapter.look(b) if type(b) is type(a) and adapter is not DLPACK else look(b, "b", stream)
        pd, kd = (0, None) if out is None else look(out, "out", stream)
        extra, low_bits = None, pa | pb | pd
        if (weights is not None or c is not None or bias is not None or scale_m is not None or scale_n is not None or offsets is not None
                or type(alpha) not in NUMBERS or type(beta) not in NUMBERS or beta != 0):
            extra = Extra(out, pd, stream, c, bias, scale_m, scale_n, offsets, alpha, beta, weights)
            low_bits |= extra.weight_bits
        key = (ka, kb, kd, activation, compute, out_dtype, low_bits & 15, extra and extra.key, type(a), type(b), type(out))
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
        weights = kb if type(b) is Weights else None
        views: Dict[str, Any] = {"a": view_of(type(a), ka, "a")}
        views["b"] = view_of_weights(weights, views["a"].dtype) if weights is not None else view_of(type(b), kb, "b")
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
            device_scalars=extra is not None and extra.device_scalars, align_bytes=(16 | low_bits) & -(16 | low_bits), weights=weights))
        check_scalar(one, "alpha", prepared.problem.type)
        check_scalar(other, "beta", prepared.problem.type)
        return prepared


def allocate(like: Any, prepared: Prepared) -> Tuple[Any, int]:
    """out, as the operands' library makes it, and its address."""
    adapter = adapter_of_type(type(like))
    out = adapter.empty(like, prepared.out_shape, prepared.out_dtype)
    return out, adapter.look(out)[0]
