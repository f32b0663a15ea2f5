"""The library of a device where none is named, and the database that it opens."""

from __future__ import annotations

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

# Part of a device's name: the database that ships for it. Others of its architecture may use it too.
_SHIPPED = (("H200", "h200.db"), ("H100", "h100.db"), ("sm_90", "h200.db"))


def user_database() -> pathlib.Path:
    """Where `tilesmith tune` records: $TILESMITH_DB, else tilesmith/tuned.db below $XDG_DATA_HOME or ~/.local/share."""
    named = os.environ.get("TILESMITH_DB")
    if named:
        return pathlib.Path(named)
    data = os.environ.get("XDG_DATA_HOME") or pathlib.Path.home() / ".local" / "share"
    return pathlib.Path(data) / "tilesmith" / "tuned.db"


def shipped_database(device: str) -> Optional[pathlib.Path]:
    """The recorded bests that ship for a device, named as Library.device names it; None if there are none."""
    for part, name in _SHIPPED:
        file = _abi.FOLDER / "bests" / name
        if part in device and file.exists():
            return file
    return None


def default_database(ordinal: int) -> Optional[pathlib.Path]:
    """What is opened where no path is given: your own database if it is there, else what ships for the device, else none."""
    own = user_database()
    if own.exists() or os.environ.get("TILESMITH_DB"):
        return own
    with Library(None, ordinal) as library:
        return shipped_database(library.device)


def default_library(ordinal: int) -> Library:
    """Opened once for each device."""
    library = _libraries.get(ordinal)
    if library is None:
        with _lock:
            library = _libraries.get(ordinal)
            if library is None:
                library = _libraries[ordinal] = Library(default_database(ordinal), ordinal)
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
