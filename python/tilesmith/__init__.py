"""Auto-tuned GEMM kernels for NVIDIA GPUs: tilesmith.gemm(a, b) for arrays of PyTorch, CuPy, JAX and others.

    import tilesmith, torch
    d = tilesmith.gemm(a, b, bias=bias, activation="gelu")      # a, b, bias: tensors on "cuda"

See docs/python.md. Nothing here needs NumPy, and importing it needs no GPU.
"""

from __future__ import annotations

from typing import Any, List, Optional

from . import sparse, weights
from ._defaults import default_library, library_of, set_default
from ._errors import Error
from ._kernel import Kernel
from ._library import Library, Path
from ._plan import Explanation, Plan
from ._problem import Problem
from ._program import program, tune
from ._quantise import quantise
from ._tune_kernel import tune_kernel

__all__ = ["Error", "Explanation", "Kernel", "Library", "Plan", "Problem", "default_library", "gemm", "open", "program", "quantise", "set_default", "sparse", "tune", "tune_kernel", "version", "weights"]
__version__ = "0.1.0"


def gemm(a: Any, b: Any, out: Any = None, *, alpha: Any = 1.0, beta: Any = 0.0, c: Any = None, bias: Any = None,
         activation: Optional[str] = None, scale_m: Any = None, scale_n: Any = None, offsets: Any = None, compute: Optional[str] = None,
         out_dtype: Any = None, stream: Any = None, library: Optional[Library] = None) -> Any:
    """act(r c^T o alpha a b + beta c + bias) into `out`, which is returned. Enqueued on a stream; the host does not wait.

    a, b: m x k and k x n, rows or columns contiguous; with three dimensions batches, of which one may have two dimensions and serve all entries.
    b may be tilesmith.weights.Weights, n x k in 4 or 8 bits; a is f16 or bf16, or e4m3 or s8 if they were packed with dtype="e4m3".
    out: m x n, or a batch; None: allocated by the operands' library (PyTorch, CuPy), rows packed. Must not overlap what is read.
    alpha, beta: numbers, or arrays of one element in device memory, which the kernel reads. beta's term is `c`, or `out` itself where c is None.
    bias: n elements, or m x 1; of out's type or f32. activation: "relu", "gelu", "gelu_tanh", "silu", "relu_squared", or the gates "swiglu" and
    "swiglu_interleaved", whose out has n / 2 columns.
    scale_m, scale_n: r and c, f32 arrays of m (n) elements or of one. Of 8-bit floats and s8 also a's and b's scales of blocks of K, f32 matrices: for each
    row (column) and 128 of K, ceil(k / 128) x m (n), or its transpose; for 128 x 128, ceil(m (n) / 128) x ceil(k / 128); packed, and with three
    dimensions of a batch or groups.
    offsets: s32, the ends of groups of a's rows (mixture of experts): a is m x k, b is groups x k x n.
    compute: how sums are made: None, or "f16" of f16, "tf32" or "f32x3" of f32. Of uint8 also "s4", "u4", "b1" (AND) and "b1xor": a and b hold two
    or eight elements a byte along their contiguous dimension, the one of lower index in the lower bits. Pad with zeros to whole bytes.
    out_dtype: where out is None; default: the operands', s32 of 8-bit integers, bf16 of these with scales and of 8-bit floats (with
    weights: their scales', bf16 if these are f32).
    stream: a number, or a stream of PyTorch, CuPy or cuda.core; None: the current one of a's library, of others the default stream.
    library: by default the device's own (see set_default).

    The first call with such operands chooses a kernel and may compile it, which takes up to seconds. Later ones launch. Raises TypeError,
    ValueError or Error in one line that says what was expected.
    """
    if library is None:
        library = library_of(a)
    return library.run(a, b, out, alpha, beta, c, bias, activation, scale_m, scale_n, offsets, compute, out_dtype, stream)


def open(path: Optional[Path] = None, device: int = 0, **options: Any) -> Library:
    """Opens a tuned database or a bundle for a device, for reading. None: no records, kernels are predicted.

    options: allow_compile=True, log_misses=False, trial_budget=0, trial_database=None, family_dirs=(), early_in_graphs=False, as in tilesmith.h.
    """
    return Library(path, device, **options)


def version() -> str:
    """The shared library's version."""
    from . import _abi

    return _abi.load().tilesmith_version().decode()


def __dir__() -> List[str]:
    return [*__all__, "__version__"]
