"""Matrices as 8-bit floats or integers and their scales, as tilesmith.gemm reads them. On a device by a kernel of ours, else by PyTorch's operators."""

from __future__ import annotations

import sys
import warnings
from typing import Any, Callable, Dict, Optional, Sequence, Set, Tuple

from . import _abi
from ._arrays import TORCH
from ._defaults import library_of
from ._errors import Error
from ._kernel import Kernel
from ._layout import shape_text
from ._library import Library
from ._prepare import SCALE_BLOCK
from ._products import MOST_PREPARED

FOLDER = _abi.FOLDER / "kernels" / "quantise"
_LARGEST = {"e4m3": 448, "s8": 127}

_kernels: Dict[Library, Kernel] = {}  # never closed: a captured graph may hold them
_launches: Dict[Any, Callable[[Sequence[int], int], None]] = {}  # those that ran
_refused: Set[Library] = set()


def quantise(x: Any, type: str, block: Optional[int] = None, *, powers_of_two: bool = False) -> Tuple[Any, Any]:
    """Rounds x to 8 bits: returns elements, and f32 scales by which they are multiplied to get x back. For operands of tilesmith.gemm:

        q, scales = tilesmith.quantise(x, "e4m3", block=128)
        y = tilesmith.gemm(q, weight.t(), scale_m=scales, scale_n=weight_scales)

    x: a tensor of PyTorch, m x k of f16, bf16 or f32, on any device. type: "e4m3" or "s8".
    block: None for one scale a row, m of them. 128 for one for each row and 128 of k: m x ceil(k / 128) with contiguous columns.

    powers_of_two: whether scales are rounded up to powers of two, as checkpoints whose scales are ue8m0 expect of activations. They are of f32 all the same.

    A scale is the largest magnitude divided by 448 (s8: by 127), or 1 if that is zero. Elements are rounded to the nearest, ties to even, and clamped to
    the range. In e4m3 NaN stays NaN and does not change the scale. s8 has no NaN, so a row with NaN gets the scale NaN. An infinity gets an infinite
    scale, which makes its row or block NaN. On a CUDA device one kernel does all of it; in torch.compile, and where the kernel cannot run, PyTorch's
    operators do.

    tilesmith.torch.quantize() and quantize_() do something else: they pack the weights of a model for products with 16-bit activations.
    """
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(x, torch.Tensor):
        raise TypeError(f"x is a {x.__class__.__module__}.{x.__class__.__qualname__}; expected a tensor of PyTorch")
    if type not in _LARGEST:
        raise ValueError(f"type is {type!r}; expected 'e4m3' or 's8'")
    if block not in (None, SCALE_BLOCK):
        raise ValueError(f"block is {block!r}; expected None or {SCALE_BLOCK}")
    if x.dim() != 2 or x.dtype not in (torch.float16, torch.bfloat16, torch.float32):
        raise ValueError(f"x is {shape_text(tuple(x.shape))} of {x.dtype}; expected m x k of float16, bfloat16 or float32")
    if x.is_cuda and x.__class__ in (torch.Tensor, torch.nn.Parameter) and x.numel() and not torch.compiler.is_compiling():
        made = by_kernel(torch, x.detach(), type, block, powers_of_two)
        if made is not None:
            return made
    return by_tensors(torch, x, type, block, powers_of_two)


def by_kernel(torch: Any, x: Any, type: str, block: Optional[int], powers: bool) -> Optional[Tuple[Any, Any]]:
    """By one launch. None if the kernel cannot run, or would have to be planned while a stream is captured."""
    rows, k = x.shape
    if (k > 1 and x.stride(1) != 1) or (rows > 1 and x.stride(0) < k) or x.data_ptr() % 16:
        x = x.clone(memory_format=torch.contiguous_format)
    step, library = x.stride(0) if rows > 1 else k, library_of(x, "x")
    key = library, x.dtype, rows, k, step, type, block, powers
    launch = _launches.get(key)
    if launch is None and (library in _refused or (torch.cuda.is_available() and torch.cuda.is_current_stream_capturing())):
        return None
    elements = x.new_empty((rows, k), dtype=torch.float8_e4m3fn if type == "e4m3" else torch.int8)
    scales = x.new_empty((-(-k // block), rows) if block else (rows,), dtype=torch.float32)
    input, at_x, other = 2 if x.dtype is torch.bfloat16 else 1 if x.dtype is torch.float16 else 3, x.data_ptr(), scales.data_ptr()
    addresses = (elements.data_ptr(), other, at_x if input == 1 else other, at_x if input == 2 else other, at_x if input == 3 else other)
    stream = TORCH.stream(library.ordinal)
    if launch is not None:
        launch(addresses, stream)
    else:
        try:
            kernel = _kernels.get(library) or _kernels.setdefault(library, Kernel(FOLDER, library))
            launch = kernel.at(rows=rows, cols=k, step=step, block=block or k, input=input, highest=_LARGEST[type], scaling=2 if powers else 1)
            launch(addresses, stream)
        except Error as why:
            _refused.add(library)
            warnings.warn(f"tilesmith.quantise by PyTorch's operators from now on: {why}", stacklevel=3)
            return None
        if len(_launches) >= MOST_PREPARED:
            _launches.clear()
        _launches[key] = launch
    return elements, scales.t() if block else scales


def by_tensors(torch: Any, x: Any, type: str, block: Optional[int], powers: bool) -> Tuple[Any, Any]:
    """By PyTorch's operators: what the kernel has to equal."""
    (rows, k), highest = x.shape, float(_LARGEST[type])
    count, each = (-(-k // block), block) if block else (1, max(k, 1))
    blocks = torch.nn.functional.pad(x.detach().float(), (0, count * each - k)).reshape(rows, count, each)
    sizes = blocks.abs() if type == "s8" else blocks.abs().nan_to_num(0.0, float("inf"))
    largest = sizes.amax(-1)
    scales = largest / torch.full_like(largest, highest)  # by a tensor: on a device, PyTorch multiplies by a number's reciprocal, which is less exact
    scales = torch.where(scales == 0, torch.ones_like(scales), scales)
    if powers:  # bits of a fraction round the exponent up
        bits = scales.view(torch.int32)
        scales = torch.where(scales.isfinite(), ((bits + 0x7FFFFF) & 0x7F800000).view(torch.float32), scales)
    elements = (blocks / scales.unsqueeze(-1)).clamp(-highest, highest).reshape(rows, count * each)[:, :k]
    elements = elements.to(torch.float8_e4m3fn) if type == "e4m3" else elements.round().nan_to_num(0.0).to(torch.int8)
    return elements.contiguous(), scales.t().contiguous().t() if block else scales.reshape(rows)
