"""tilesmith.h for ctypes: its structs, its functions, and where the shared library is."""

from __future__ import annotations

import ctypes
import functools
import os
import pathlib
import struct
from ctypes import POINTER, Structure, c_char, c_char_p, c_double, c_int8, c_int16, c_int32, c_int64, c_size_t, c_uint64, c_void_p
from typing import Sequence

from ._errors import Error

INTERFACE = "0.1"  # major and minor version of tilesmith.h; another one is another interface
PACKED = -1
FOLDER = pathlib.Path(__file__).resolve().parent


# Places of a run's operands, tilesmith_operand.
OPERANDS = ("a", "b", "c", "d", "scale_m", "scale_n", "bias", "offsets", "alpha", "beta", "metadata", "weight_scales", "weight_zeros")
SINGLE, STRIDED, POINTERS, GROUPED = range(4)  # tilesmith_batch_mode


class CProblem(Structure):
    _fields_ = [
        ("size", c_size_t), ("type", c_char * 16), ("transposes", c_char * 8), ("m", c_int64), ("n", c_int64), ("k", c_int64),
        ("lda", c_int64), ("ldb", c_int64), ("ldc", c_int64), ("batch", c_int64), ("stride_a", c_int64), ("stride_b", c_int64),
        ("stride_c", c_int64), ("align_bytes", c_int32), ("activation", c_int16), ("bias", c_int16), ("scale_m", c_int8),
        ("scale_n", c_int8), ("bias_is_f32", c_int8), ("beta_is_zero", c_int8), ("c_is_apart", c_int8), ("scalars_on_device", c_int8),
        ("sparsity", c_int8), ("batch_mode", c_int8), ("weights", c_char * 24),
    ]


_RUN = struct.Struct(f"N{1 + len(OPERANDS)}P")


def run_bytes(operands: Sequence[int], workspace: int = 0) -> bytes:
    """A tilesmith_run of addresses in the order of OPERANDS, 0 for none. In bytes, which take less time than a ctypes struct."""
    return _RUN.pack(_RUN.size, workspace, *operands)


class COptions(Structure):
    _fields_ = [
        ("size", c_size_t), ("device", c_int32), ("allow_compile", c_int32), ("log_misses", c_int32), ("trial_budget", c_int32),
        ("trial_database", c_char_p), ("family_dirs", c_char_p), ("early_in_graphs", c_int32),
    ]


class CExplanation(Structure):
    _fields_ = [
        ("level", c_char_p), ("config", c_char_p), ("reason", c_char_p), ("measured", c_char_p), ("trust", c_char_p), ("kernel", c_char_p),
        ("median_us", c_double), ("predicted_us", c_double), ("vendor_us", c_double), ("vendor_best_us", c_double),
        ("reserved", c_int64 * 1),
    ]


PROGRESS = ctypes.CFUNCTYPE(None, c_void_p, c_size_t, c_size_t, c_char_p)  # tilesmith_progress_callback

# name: result, arguments
_FUNCTIONS = {
    "tilesmith_version": (c_char_p, []),
    "tilesmith_last_error": (c_char_p, []),
    "tilesmith_type_pair_count": (c_int32, []),
    "tilesmith_type_pair_name": (c_char_p, [c_int32]),
    "tilesmith_open_with_options": (c_int32, [c_char_p, POINTER(COptions), POINTER(c_void_p)]),
    "tilesmith_open_default_with_options": (c_int32, [POINTER(COptions), POINTER(c_void_p)]),
    "tilesmith_shipped_database": (c_int32, [c_int32, c_char_p, c_size_t]),
    "tilesmith_close": (None, [c_void_p]),
    "tilesmith_device": (c_char_p, [c_void_p]),
    "tilesmith_database": (c_char_p, [c_void_p]),
    "tilesmith_problem_parse": (c_int32, [c_void_p, c_char_p]),
    "tilesmith_problem_text": (c_int32, [c_void_p, c_char_p, c_size_t]),
    "tilesmith_gemm": (c_int32, [c_void_p] * 4),
    "tilesmith_prepare": (c_int32, [c_void_p] * 3),
    "tilesmith_prepare_all": (c_int32, [c_void_p, c_void_p, c_size_t]),
    "tilesmith_set_progress_callback": (c_int32, [PROGRESS, c_void_p]),
    "tilesmith_clear_cache": (None, [c_void_p]),
    "tilesmith_plan_create": (c_int32, [c_void_p, c_void_p, POINTER(c_void_p)]),
    "tilesmith_plan_destroy": (None, [c_void_p]),
    "tilesmith_plan_workspace_bytes": (c_int32, [c_void_p, POINTER(c_uint64)]),
    "tilesmith_plan_reserve_workspace": (c_int32, [c_void_p]),
    "tilesmith_plan_explain": (c_int32, [c_void_p, POINTER(CExplanation)]),
    "tilesmith_plan_run": (c_int32, [c_void_p] * 3),
    "tilesmith_kernel_open": (c_int32, [c_void_p, c_char_p, POINTER(c_void_p)]),
    "tilesmith_kernel_close": (None, [c_void_p]),
    "tilesmith_kernel_run": (c_int32, [c_void_p] * 4 + [c_size_t, c_void_p, c_size_t]),
    "tilesmith_kernel_elements": (c_int32, [c_void_p] * 3 + [c_size_t, c_void_p, c_size_t]),
}


def library_file() -> str:
    """Path of the shared library: $TILESMITH_LIBRARY, the package's own, else a name for the loader to find."""
    named = os.environ.get("TILESMITH_LIBRARY")
    if named:
        return named
    own = FOLDER / "lib" / f"libtilesmith.so.{INTERFACE}"
    return str(own) if own.exists() else own.name


@functools.lru_cache(maxsize=None)
def load() -> ctypes.CDLL:
    """The shared library, its functions typed. Raises Error in one line if it cannot be loaded or is of another version."""
    path = library_file()
    try:
        lib = ctypes.CDLL(path)
    except OSError as why:
        raise Error(f"{path} could not be loaded ({why}); expected a wheel of tilesmith-gemm, $TILESMITH_LIBRARY, or the library on the "
                    "loader's path") from None
    for name, (result, arguments) in _FUNCTIONS.items():
        try:
            function = getattr(lib, name)
        except AttributeError:
            raise Error(f"{path} has no {name}; expected libtilesmith {INTERFACE}") from None
        function.restype, function.argtypes = result, arguments
    version = lib.tilesmith_version().decode()
    if not version.startswith(INTERFACE + "."):
        raise Error(f"{path} is version {version}; expected {INTERFACE}")
    return lib


def check(status: int) -> None:
    """Raises the library's own line if a call failed."""
    if status != 0:
        raise Error(load().tilesmith_last_error().decode(errors="replace"), status)
