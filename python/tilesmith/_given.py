"""What weights are repacked from and into: matrices in host memory, or on a device."""

from __future__ import annotations

import ctypes
import sys
from typing import Any, Dict, NamedTuple, Optional, Tuple

from ._arrays import CUPY, TORCH, adapter_of, look
from ._layout import matrix, shape_text
from ._types import SIZES, name_of_typestr, type_name
from ._weights_abi import CArray


class HostArray:
    """Bytes in host memory with __array_interface__: what is made of host arrays where there is no NumPy."""

    def __init__(self, shape: Tuple[int, ...], dtype: str) -> None:
        self.shape, self.dtype = shape, dtype
        count = SIZES[dtype]
        for extent in shape:
            count *= extent
        self.memory = ctypes.create_string_buffer(count + 16)
        self.address = -(-ctypes.addressof(self.memory) // 16) * 16

    @property
    def __array_interface__(self) -> Dict[str, Any]:
        typestr = {"u8": "|u1", "f32": "<f4", "f16": "<f2", "bf16": "<u2"}[self.dtype]
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


def look_at(array: Any, what: str, dtype: Optional[str] = None, stream: Optional[int] = None) -> Given:
    """One or two dimensions, or experts before them, packed. dtype: as which it is taken, of the same size."""
    writable, torch = True, sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        array = array.detach().contiguous()
        shape, name, address, on_host = tuple(array.shape), type_name(array.dtype), array.data_ptr(), array.get_device() < 0
    elif hasattr(array, "__array_interface__") and not hasattr(array, "__cuda_array_interface__"):
        interface = array.__array_interface__
        if interface.get("strides") is not None:
            raise ValueError(f"{what} is not packed; expected contiguous rows")
        shape, (address, read_only), on_host = tuple(interface["shape"]), interface["data"], True
        writable = not read_only
        typestr = interface["typestr"]
        name = name_of_typestr("<" + typestr[1:]) or {"u4": "s32", "u2": "bf16"}.get(typestr[1:])
    else:
        adapter = adapter_of(array, what)
        address, key = adapter.look(array) if adapter in (TORCH, CUPY) else look(array, what, stream)
        view = adapter.describe(key)
        shape, name, on_host, writable = view.shape, view.dtype, False, view.writable
        one = matrix(view, what) if len(shape) in (2, 3) else None
        apart = one is not None and one.entries is not None and one.entries > 1 and one.distance != one.rows * one.columns
        if one is not None and (one.by_columns or one.step != max(one.columns, 1) or apart):
            raise ValueError(f"{what} is not packed; expected contiguous rows")
    if len(shape) not in (1, 2, 3):
        raise ValueError(f"{what} is {shape_text(shape)}; expected 2 dimensions, or experts before them")
    if name is None:
        raise TypeError(f"{what} is of an unknown type; expected one of {', '.join(SIZES)}")
    if dtype is not None:
        if SIZES.get(dtype, 1) != SIZES[name]:
            raise ValueError(f"{what} is of {name}; expected {dtype}")
        name = dtype
    rows, columns = (1, shape[0]) if len(shape) == 1 else shape[-2:]
    return Given(array, address, name, rows, columns, on_host, writable, shape[0] if len(shape) == 3 else None)


def empty(like: Given, shape: Tuple[int, ...], dtype: str) -> Any:
    torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
    if torch is not None and isinstance(like.array, torch.Tensor):
        return TORCH.empty(like.array, shape, dtype)
    if not like.on_host:
        return adapter_of(like.array, "codes").empty(like.array, shape, dtype)
    if numpy is not None and isinstance(like.array, numpy.ndarray) and dtype != "bf16":
        return numpy.empty(shape, {"u8": "uint8", "f16": "float16", "f32": "float32"}[dtype])
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
    if found.shape != ((1, *shape) if len(shape) == 1 else shape) or found.dtype != dtype or not found.writable:
        kind = found.dtype if found.writable else f"{found.dtype} that may not be written"
        raise ValueError(f"{what} to make is {shape_text(found.shape)} of {kind}; expected {shape_text(shape)} of {dtype}")
    if found.on_host != like.on_host:
        raise ValueError(f"{what} to make is in {'host memory' if found.on_host else 'device memory'}; expected it where the codes are")
    return to
