"""What weights are repacked from and into: matrices in host memory, or on a device."""

from __future__ import annotations

import ctypes
import sys
from typing import Any, Dict, NamedTuple, Optional, Tuple

from ._arrays import TORCH, adapter_of, look, view_of
from ._layout import is_packed, shape_text
from ._types import SIZES, name_of_typestr, type_name
from ._weights_abi import CArray


_SIZES = {**SIZES, "s16": 2}  # s16: scales of q4_k, zeros of q6_k


class HostArray:
    """Bytes in host memory with __array_interface__: what is made of host arrays where there is no NumPy."""

    def __init__(self, shape: Tuple[int, ...], dtype: str) -> None:
        self.shape, self.dtype = shape, dtype
        count = _SIZES[dtype]
        for extent in shape:
            count *= extent
        self.memory = ctypes.create_string_buffer(count + 16)
        self.address = -(-ctypes.addressof(self.memory) // 16) * 16

    @property
    def __array_interface__(self) -> Dict[str, Any]:
        typestr = {"u8": "|u1", "f32": "<f4", "f16": "<f2", "bf16": "<u2", "s16": "<i2", "s32": "<i4"}[self.dtype]
        return {"shape": self.shape, "typestr": typestr, "data": (self.address, False), "version": 3}

    def tobytes(self) -> bytes:
        return ctypes.string_at(self.address, len(self.memory) - 16)


class Given(NamedTuple):
    """A matrix that is repacked, or one of each expert."""

    array: Any
    address: int
    dtype: str
    rows: int
    columns: int
    on_host: bool
    writable: bool = True
    experts: Optional[int] = None

    @property
    def shape(self) -> Tuple[int, ...]:
        return (self.rows, self.columns) if self.experts is None else (self.experts, self.rows, self.columns)

    def c(self) -> CArray:
        return CArray(self.address, self.rows * (1 if self.experts is None else self.experts), self.columns, self.dtype.encode())


# By the names that PyTorch and typestrs have: arrays that are taken for another type where that alone will do, since their bits are the same.
_SAME_BITS = {"uint32": "s32", "u4": "s32", "int8": "u8", "i1": "u8", "s8": "u8", "float8_e8m0fnu": "u8", "float4_e2m1fn_x2": "u8"}


def look_at(array: Any, what: str, types: Tuple[str, ...] = tuple(_SIZES)) -> Given:
    """One or two dimensions, or experts before them, packed. types: those that will do; of more than one the library checks them."""
    writable, name, torch = True, None, sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        if array.device.type not in ("cpu", "cuda"):
            raise ValueError(f"{what} is on the device {array.device}; expected \"cpu\" or \"cuda\"")
        array = array.detach().contiguous()
        shape, address, on_host = tuple(array.shape), array.data_ptr(), array.get_device() < 0
        name, kind = type_name(array.dtype), str(array.dtype).replace("torch.", "")
    elif hasattr(array, "__array_interface__") and not hasattr(array, "__cuda_array_interface__"):
        interface = array.__array_interface__
        typestr, strides = interface["typestr"], interface.get("strides")
        shape, (address, read_only), on_host, kind = tuple(interface["shape"]), interface["data"], True, typestr.lstrip("<|")
        if strides is not None and not is_packed(shape, tuple(strides), int(typestr[2:])):
            raise ValueError(f"{what} is not packed; expected contiguous rows")
        writable = not read_only
        name = {"u2": "bf16"}.get(kind) or name_of_typestr(typestr)
    else:
        address, key = look(array, what, None)
        try:
            view = view_of(type(array), key, what)
        except TypeError as why:  # of no type of ours
            raise TypeError(f"{str(why).partition(';')[0]}; expected {' or '.join(types)}") from None
        shape, name, kind, on_host, writable = view.shape, view.dtype, view.dtype, False, view.writable
        if not is_packed(shape, view.strides):
            raise ValueError(f"{what} is not packed; expected contiguous rows")
    if len(shape) not in (1, 2, 3):
        raise ValueError(f"{what} is {shape_text(shape)}; expected 2 dimensions, or experts before them")
    if types == (_SAME_BITS.get(kind),):
        name = types[0]
    if name not in SIZES and name not in types or len(types) == 1 and name not in types:
        raise (TypeError if name is None else ValueError)(f"{what} is of {name or getattr(array, 'dtype', repr(kind))}; expected {' or '.join(types)}")
    rows, columns = (1, shape[0]) if len(shape) == 1 else shape[-2:]
    return Given(array, address, name, rows, columns, on_host, writable, shape[0] if len(shape) == 3 else None)


def empty(like: Given, shape: Tuple[int, ...], dtype: str) -> Any:
    torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
    if torch is not None and isinstance(like.array, torch.Tensor):
        return TORCH.empty(like.array, shape, dtype)
    if not like.on_host:
        return adapter_of(like.array, "codes").empty(like.array, shape, dtype)
    if numpy is not None and isinstance(like.array, numpy.ndarray) and dtype != "bf16":
        return numpy.empty(shape, {"u8": "uint8", "f16": "float16", "f32": "float32", "s16": "int16", "s32": "int32"}[dtype])
    return HostArray(shape, dtype)


class Out(NamedTuple):
    """Where codes, scales and zeros are to be made; None: allocated."""

    codes: Any = None
    scales: Any = None
    zeros: Any = None


def memory_for(like: Given, to: Any, what: str, shape: Tuple[int, ...], dtype: str) -> Any:
    if to is None:
        return empty(like, shape, dtype)
    found = look_at(to, what)
    if not getattr(to, "is_contiguous", lambda: True)():  # PyTorch's: what was looked at is a copy then
        raise ValueError(f"{what} to make is not packed; expected contiguous rows")
    if found.shape != ((1, *shape) if len(shape) == 1 else shape) or found.dtype != dtype or not found.writable:
        kind = found.dtype if found.writable else f"{found.dtype} that may not be written"
        raise ValueError(f"{what} to make is {shape_text(found.shape)} of {kind}; expected {shape_text(shape)} of {dtype}")
    if found.on_host != like.on_host:
        raise ValueError(f"{what} to make is in {'host memory' if found.on_host else 'device memory'}; expected it where the codes are")
    return to
