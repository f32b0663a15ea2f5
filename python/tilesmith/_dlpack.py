"""Reads the capsule that __dlpack__ returns. The producer's memory stays its own: the capsule is not consumed, and lets go of what it holds
when it is collected."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, Structure, c_char_p, c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p, py_object
from typing import Any, Hashable, Optional, Tuple

_CUDA_DEVICES = {2: "cuda", 13: "cuda managed"}
# (code, bits) of a DLDataType
_TYPES = {(2, 64): "f64", (2, 32): "f32", (2, 16): "f16", (4, 16): "bf16", (0, 32): "s32", (0, 8): "s8", (1, 8): "u8", (10, 8): "e4m3",
          (12, 8): "e5m2", (0, 16): "s16", (1, 16): "u16", (1, 32): "u32", (0, 64): "s64", (1, 64): "u64"}


class _Tensor(Structure):
    _fields_ = [
        ("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32), ("ndim", c_int32), ("code", c_uint8), ("bits", c_uint8),
        ("lanes", c_uint16), ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)), ("byte_offset", c_uint64),
    ]


class _Versioned(Structure):
    _fields_ = [("major", c_uint32), ("minor", c_uint32), ("context", c_void_p), ("deleter", c_void_p), ("flags", c_uint64), ("tensor", _Tensor)]


_READ_ONLY = 1  # in flags

_name_of = ctypes.pythonapi.PyCapsule_GetName
_name_of.restype, _name_of.argtypes = c_char_p, [py_object]
_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype, _pointer_of.argtypes = c_void_p, [py_object, c_char_p]


def look(array: Any, stream: Optional[int] = None, what: str = "an operand") -> Tuple[int, Hashable]:
    """Address and key of a DLPack producer's array. The producer makes the default stream (of others: `stream`) wait for its own work."""
    device = array.__dlpack_device__()
    if int(device[0]) not in _CUDA_DEVICES:
        raise ValueError(f"{what}: an array is on DLPack device {tuple(map(int, device))}; expected a CUDA device (2), not the CPU (1)")
    capsule = array.__dlpack__(stream=stream or 1)  # 1: the default stream, 0 is not defined
    name = _name_of(capsule)
    if name == b"dltensor":
        tensor, writable = ctypes.cast(_pointer_of(capsule, name), POINTER(_Tensor)).contents, True
    elif name == b"dltensor_versioned":
        held = ctypes.cast(_pointer_of(capsule, name), POINTER(_Versioned)).contents
        if held.major != 1:
            raise ValueError(f"{what}: a DLPack capsule is of version {held.major}; expected 1")
        tensor, writable = held.tensor, not held.flags & _READ_ONLY
    else:
        raise ValueError(f"{what}: a DLPack capsule is named {name!r}; expected one that nobody has consumed")
    rank = tensor.ndim
    shape = tuple(tensor.shape[:rank])
    strides = tuple(tensor.strides[:rank]) if tensor.strides else None
    dtype = _TYPES.get((tensor.code, tensor.bits)) if tensor.lanes == 1 else None
    return (tensor.data or 0) + tensor.byte_offset, (dtype, shape, strides, tensor.device_id, writable)
