"""tilesmith_weights.h for ctypes."""

from __future__ import annotations

import ctypes
from ctypes import Structure, c_char, c_int32, c_int64, c_size_t, c_uint64, c_void_p

from . import _abi


class CWeights(Structure):
    _fields_ = [("size", c_size_t), ("type", c_char * 8), ("n", c_int64), ("k", c_int64), ("group", c_int64), ("scale_type", c_char * 8),
                ("has_zeros", c_int32), ("experts", c_int32), ("a_bits", c_int32)]


class CArray(Structure):
    _fields_ = [("data", c_void_p), ("rows", c_int64), ("columns", c_int64), ("type", c_char * 8)]


class CSource(Structure):
    _fields_ = [("size", c_size_t), ("format", c_int32), ("on_host", c_int32), ("codes", CArray), ("scales", CArray), ("zeros", CArray),
                ("g_idx", CArray)]


class CSizes(Structure):
    _fields_ = [("codes", c_uint64), ("scales", c_uint64), ("zeros", c_uint64)]


_SIGNATURES = {
    "tilesmith_weights_init": [c_void_p, ctypes.c_char_p, c_int64, c_int64, c_int64, ctypes.c_char_p, c_int32],
    "tilesmith_weights_source_init": [c_void_p, c_int32],
    "tilesmith_weights_bytes": [c_void_p, c_void_p],
    "tilesmith_weights_repack": [c_void_p] * 7,
}


def load() -> ctypes.CDLL:
    """The shared library, with these functions typed too."""
    lib = _abi.load()
    for name, arguments in _SIGNATURES.items():
        function = getattr(lib, name)
        function.restype, function.argtypes = c_int32, arguments
    return lib
