"""Arrays of other libraries as an address and a layout.

An adapter knows one kind of array. `look` is what every call does: it returns the address and a hashable key of all else. `describe` makes a
View of a key, once for each key.
"""

from __future__ import annotations

import functools
import math
import sys
from typing import Any, Callable, Hashable, NamedTuple, Optional, Tuple

from . import _dlpack
from ._types import ALL_SIZES, name_of_typestr, type_name


class View(NamedTuple):
    """What a key says: strides are in elements, of the same number as the shape's entries. device: None where the array does not say."""

    dtype: str
    shape: Tuple[int, ...]
    strides: Tuple[int, ...]
    device: Optional[int]
    writable: bool = True


Look = Callable[[Any], Tuple[int, Hashable]]


class Adapter(NamedTuple):
    library: str
    look: Look
    describe: Callable[[Any], View]
    empty: Callable[[Any, Tuple[int, ...], str], Any]  # like an array, of this shape and type
    stream: Callable[[Optional[int]], int]  # the library's current one


def packed_strides(shape: Tuple[int, ...]) -> Tuple[int, ...]:
    strides = []
    step = 1
    for extent in reversed(shape):
        strides.append(step)
        step *= max(extent, 1)
    return tuple(reversed(strides))


def _known(dtype: Optional[str], given: object) -> str:
    if dtype is None:
        raise TypeError(f"an element is of type {given}; expected one of {', '.join(ALL_SIZES)}")
    return dtype


def _in_elements(shape: Tuple[int, ...], strides: Tuple[int, ...], dtype: str) -> Tuple[int, ...]:
    size = ALL_SIZES[dtype]
    if any(stride % size for extent, stride in zip(shape, strides) if extent > 1):
        raise ValueError(f"strides of {strides} bytes; expected multiples of an element, {size} bytes")
    return tuple(stride // size for stride in strides)


# ---- PyTorch

HOST_DEVICES_ALLOWED = False  # tests set it: their stand-in of the library multiplies in host memory


def _look_torch(tensor: Any) -> Tuple[int, Hashable]:
    return tensor.data_ptr(), (tensor.dtype, tensor.shape, tensor.stride(), tensor.get_device())


def _describe_torch(key: Any) -> View:
    dtype, shape, strides, device = key
    if device < 0 and not HOST_DEVICES_ALLOWED:
        raise ValueError("a tensor is not on a CUDA device; expected one on \"cuda\"")
    return View(_known(type_name(dtype), dtype), tuple(shape), tuple(strides), device if device >= 0 else None)


def _empty_torch(like: Any, shape: Tuple[int, ...], dtype: str) -> Any:
    return like.new_empty(shape, dtype=torch_dtype(dtype))


@functools.lru_cache(maxsize=None)
def torch_dtype(name: str) -> Any:
    import torch

    names = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "s32": "int32", "s16": "int16", "s8": "int8", "u8": "uint8",
             "e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2"}
    return getattr(torch, names[name])


def _stream_torch(device: Optional[int]) -> int:
    if device is None or HOST_DEVICES_ALLOWED:
        return 0
    import torch

    return torch._C._cuda_getCurrentRawStream(device)  # what torch.cuda.current_stream(device).cuda_stream is, in a tenth of its time


TORCH = Adapter("torch", _look_torch, _describe_torch, _empty_torch, _stream_torch)


# ---- CuPy


def _look_cupy(array: Any) -> Tuple[int, Hashable]:
    return array.data.ptr, (array.dtype, array.shape, array.strides, array.data.device_id)


def _describe_cupy(key: Any) -> View:
    dtype, shape, strides, device = key
    name = _known(type_name(dtype), dtype)
    return View(name, shape, _in_elements(shape, strides, name), device)


def _empty_cupy(like: Any, shape: Tuple[int, ...], dtype: str) -> Any:
    import cupy

    names = {"f64": "float64", "f32": "float32", "f16": "float16", "s32": "int32", "s16": "int16", "s8": "int8", "u8": "uint8"}
    if dtype in names:
        return cupy.empty(shape, dtype=names[dtype])
    if type_name(like.dtype) == dtype:
        return cupy.empty(shape, dtype=like.dtype)
    raise TypeError(f"CuPy makes no array of {dtype}; expected out, or out_dtype of another type")


def _stream_cupy(device: Optional[int]) -> int:
    import cupy

    return cupy.cuda.get_current_stream().ptr


CUPY = Adapter("cupy", _look_cupy, _describe_cupy, _empty_cupy, _stream_cupy)


# ---- Whatever has __cuda_array_interface__ or __dlpack__


def _look_interface(array: Any) -> Tuple[int, Hashable]:
    interface = array.__cuda_array_interface__
    address, read_only = interface["data"]
    return address or 0, (interface["typestr"], tuple(interface["shape"]), interface.get("strides"), read_only)


def _describe_interface(key: Any) -> View:
    typestr, shape, strides, read_only = key
    name = _known(name_of_typestr(typestr), repr(typestr))
    elements = packed_strides(shape) if strides is None else _in_elements(shape, tuple(strides), name)
    return View(name, shape, elements, None, not read_only)


def _empty_nowhere(like: Any, shape: Tuple[int, ...], dtype: str) -> Any:
    extents = "x".join(map(str, shape))
    raise TypeError(f"out is None, and arrays of {type(like).__module__.partition('.')[0]} are not allocated here; expected out, {extents} of {dtype}")


def _default_stream(device: Optional[int]) -> int:
    return 0


INTERFACE = Adapter("", _look_interface, _describe_interface, _empty_nowhere, _default_stream)


def _describe_dlpack(key: Any) -> View:
    dtype, shape, strides, device, writable = key
    return View(_known(dtype, "an unknown code"), shape, packed_strides(shape) if strides is None else strides, device, writable)


DLPACK = Adapter("", _dlpack.look, _describe_dlpack, _empty_nowhere, _default_stream)


# ---- Which adapter

_adapters: "dict[type, Adapter]" = {}


def adapter_of(array: Any, what: str) -> Adapter:
    """The adapter of an array's type; TypeError in one line if it has none."""
    kind = type(array)
    adapter = _adapters.get(kind)
    if adapter is None:
        adapter = _find_adapter(array, kind, what)
        _adapters[kind] = adapter
    return adapter


def adapter_of_type(kind: type) -> Adapter:
    """Of a type that adapter_of() has met."""
    return _adapters[kind]


def view_of(kind: type, key: Hashable, what: str) -> View:
    """What a key says of an array of such a type. What is wrong with it is told in one line that names the array."""
    try:
        return _adapters[kind].describe(key)
    except (TypeError, ValueError) as why:
        raise type(why)(f"{what}: {why}") from None


def _find_adapter(array: Any, kind: type, what: str) -> Adapter:
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        return TORCH
    root = kind.__module__.partition(".")[0]
    if root == "cupy":
        return CUPY
    # JAX has the interface for some types only, and DLPack for all.
    if root not in ("jax", "jaxlib") and hasattr(array, "__cuda_array_interface__"):
        return INTERFACE
    if hasattr(array, "__dlpack__"):
        return DLPACK
    raise TypeError(f"{what} is a {kind.__module__}.{kind.__qualname__}; expected an array on a CUDA device (PyTorch, CuPy, JAX, "
                    "__cuda_array_interface__ or __dlpack__)")


def look(array: Any, what: str, stream: Optional[int]) -> Tuple[int, Hashable]:
    """Address and key of an array of any kind. stream: for which a DLPack producer makes its work wait."""
    adapter = adapter_of(array, what)
    return adapter.look(array) if adapter is not DLPACK else _dlpack.look(array, stream, what)


def elements(view: View) -> int:
    return math.prod(view.shape)


def stream_number(stream: Any) -> int:
    """A stream as a number: an int, or an object with cuda_stream (PyTorch), ptr (CuPy) or __cuda_stream__ (cuda.core)."""
    number: Any = stream
    if not isinstance(stream, int):
        number = getattr(stream, "cuda_stream", None)
        if number is None:
            number = getattr(stream, "ptr", None)
        if number is None and hasattr(stream, "__cuda_stream__"):
            number = stream.__cuda_stream__()[1]
        if not isinstance(number, int):
            raise TypeError(f"stream is a {type(stream).__name__}; expected a number or an object with cuda_stream, ptr or __cuda_stream__")
    if number < 0:
        raise ValueError(f"stream is {number}; expected a cudaStream_t as a number, 0 for the default stream")
    return number
