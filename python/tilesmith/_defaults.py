"""The library of a device where none is named."""

from __future__ import annotations

import ctypes
import os
import pathlib
import threading
from typing import Any, Dict, List, Optional

from . import _abi
from ._arrays import adapter_of, look, view_of
from ._library import Library

_libraries: Dict[int, Library] = {}
_replaced: List[Library] = []  # kept open: a captured graph may hold their kernels
_lock = threading.Lock()


def user_database() -> pathlib.Path:
    """Where `tilesmith tune` records: $TILESMITH_DB, else tilesmith/tuned.db below $XDG_DATA_HOME or ~/.local/share."""
    named = os.environ.get("TILESMITH_DB")
    if named:
        return pathlib.Path(named)
    data = os.environ.get("XDG_DATA_HOME") or pathlib.Path.home() / ".local" / "share"
    return pathlib.Path(data) / "tilesmith" / "tuned.db"


def shipped_database(ordinal: int) -> Optional[str]:
    """The recorded bests that ship for a device or one like it; None if there are none."""
    path = ctypes.create_string_buffer(4096)
    _abi.check(_abi.load().tilesmith_shipped_database(ordinal, path, len(path)))
    return os.fsdecode(path.value) or None


def default_library(ordinal: int) -> Library:
    """Opened once for each device."""
    library = _libraries.get(ordinal)
    if library is None:
        with _lock:
            library = _libraries.get(ordinal)
            if library is None:
                library = _libraries[ordinal] = Library.open_default(ordinal)
    return library


def set_default(library: Optional[Library], ordinal: int = 0) -> None:
    """From now on tilesmith.gemm and tilesmith.torch use this library for its device; None: what is opened by default, once it is needed."""
    with _lock:
        former = _libraries.pop(ordinal if library is None else library.ordinal, None)
        if former is not None:
            _replaced.append(former)
        if library is not None:
            _libraries[library.ordinal] = library


def library_of(a: Any, what: str = "a") -> Library:
    """The default library of an operand's device, of device 0 where the operand does not say."""
    kind = adapter_of(a, what).library
    if kind == "torch":
        ordinal = a.get_device()
    elif kind == "cupy":
        ordinal = a.data.device_id
    else:
        ordinal = view_of(type(a), look(a, what, None)[1], what).device or 0
    return _libraries.get(ordinal) or default_library(max(ordinal, 0))
