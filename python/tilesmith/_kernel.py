"""Kernels of one's own (docs/own_kernels.md), launched on arrays."""

from __future__ import annotations

import ctypes
import json
import os
import pathlib
import re
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from . import _abi
from ._arrays import adapter_of_type, elements, look, stream_number, view_of
from ._closing import Closing
from ._defaults import default_library
from ._layout import is_packed, shape_text
from ._library import Library, Path
from ._products import MOST_PREPARED
from ._types import whole


def _in_c(sizes: Dict[str, int]) -> Tuple[Any, Any, int]:
    """Names, values and how many."""
    return (ctypes.c_char_p * len(sizes))(*map(str.encode, sizes)), (ctypes.c_int64 * len(sizes))(*sizes.values()), len(sizes)


class Kernel(Closing):
    """kernel(out, x, rows=64) launches a kernel of one's own: a folder that holds kernel.json. Arrays are those of its buffers, in their order. A
    size that is not given by name is the extent of an array that kernel.json gives this size as its extent, else kernel.json's own value.

    library: by default device 0's. Close the kernel only when its runs, and every CUDA graph that holds one, have ended.
    """

    _kind = "kernel"

    def __init__(self, folder: Path, library: Optional[Library] = None) -> None:
        self._library = library or default_library(0)
        self._lib = _abi.load()
        handle = ctypes.c_void_p()
        _abi.check(self._lib.tilesmith_kernel_open(self._library.handle, os.fsencode(folder), ctypes.byref(handle)))
        self._handle = handle.value
        definition = json.loads((pathlib.Path(folder) / "kernel.json").read_text(encoding="utf-8"))
        self._sizes = definition.get("sizes", {})
        self._buffers: List[Tuple[str, str, List[str], bool]] = []  # name, "f32[rows][cols]", its extents, whether it is written
        self._known: Dict[Any, Any] = {}
        for argument in definition["arguments"]:
            name, declared = next(one for one in argument.items() if one[0] not in ("role", "fill", "value"))
            if "[" in declared:
                is_written = argument.get("role", name) in ("out", "inout", "scratch")
                self._buffers.append((name, declared, re.findall(r"\[\s*(.*?)\s*\]", declared), is_written))

    def _destroy(self, handle: int) -> None:
        self._lib.tilesmith_kernel_close(handle)

    def __call__(self, *arrays: Any, stream: Any = None, **sizes: int) -> None:
        """Enqueued on a stream; the host does not wait. stream: as for tilesmith.gemm."""
        if len(arrays) != len(self._buffers):
            raise TypeError(f"{len(arrays)} arrays are given; expected {len(self._buffers)}: {', '.join(one[0] for one in self._buffers)}")
        number = None if stream is None else stream_number(stream)
        looked = [look(array, buffer[0], number) for array, buffer in zip(arrays, self._buffers)]
        key = (*sizes.items(), *((type(array), one[1]) for array, one in zip(arrays, looked)))
        known = self._known.get(key)
        if known is None:
            views = [view_of(type(array), one[1], buffer[0]) for array, one, buffer in zip(arrays, looked, self._buffers)]
            known = self._checked(views, {name: whole(value, name) for name, value in sizes.items()})
            if len(self._known) >= MOST_PREPARED:
                self._known.clear()
            self._known[key] = known
        if number is None:
            number = adapter_of_type(type(arrays[0])).stream(self._library.ordinal)
        addresses = (ctypes.c_void_p * len(looked))(*(address for address, _ in looked))
        _abi.check(self._lib.tilesmith_kernel_run(self.handle, number, *known, addresses, len(looked)))

    def at(self, **sizes: int) -> Callable[[Sequence[int], int], None]:
        """launch(addresses, stream) at all of these sizes, of buffers that the caller has checked."""
        names, values, count = _in_c(sizes)
        buffers, run = len(self._buffers), self._lib.tilesmith_kernel_run
        pointers = ctypes.c_void_p * buffers

        def launch(addresses: Sequence[int], stream: int) -> None:
            status = run(self.handle, stream, names, values, count, pointers(*addresses), buffers)
            if status:
                _abi.check(status)

        return launch

    def _checked(self, views: List[Any], sizes: Dict[str, int]) -> Tuple[Any, Any, int]:
        """The sizes as C has them: names, values and how many."""
        found: Dict[str, int] = {}
        for (what, declared, extents, is_written), view in zip(self._buffers, views):
            dtype = declared.partition("[")[0]
            wrong = (f"is {view.dtype}; expected {dtype}" if view.dtype != dtype
                     else f"is on device {view.device}; expected device {self._library.ordinal}" if view.device not in (None, self._library.ordinal)
                     else "is read-only; expected an array that may be written" if is_written and not view.writable
                     else "is not contiguous; expected rows side by side" if not is_packed(view.shape, view.strides) else "")
            if wrong:
                raise ValueError(f"{what} {wrong}")
            for name, extent in zip(extents, view.shape if len(view.shape) == len(extents) else ()):
                if name in self._sizes and name not in sizes and found.setdefault(name, extent) != extent:
                    raise ValueError(f"{what} is {shape_text(view.shape)}; expected {name} {found[name]}, as of an array before it")
        sizes.update(found)
        in_c, needed = _in_c(sizes), (ctypes.c_int64 * len(views))()
        _abi.check(self._lib.tilesmith_kernel_elements(self.handle, *in_c, needed, len(views)))
        for (what, declared, _, _), view, most in zip(self._buffers, views, needed):
            if elements(view) != most:
                raise ValueError(f"{what} has {elements(view)} elements; expected {most}, {declared} at "
                                 f"{' '.join(f'{name}={value}' for name, value in sizes.items())}")
        return in_c
