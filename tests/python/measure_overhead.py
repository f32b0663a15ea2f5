#!/usr/bin/env python3
"""Prints what a call of tilesmith.gemm costs on the host, with a library that does nothing.

Usage: measure_overhead.py STAND_IN.so   (compiled from stand_in.c; matrices have no elements, so that nothing is multiplied)
"""
import os
import pathlib
import sys
import timeit

os.environ["TILESMITH_LIBRARY"] = sys.argv[1]
sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent.parent.parent / "python"), str(pathlib.Path(__file__).resolve().parent)]

import tilesmith  # noqa: E402
from tilesmith import _arrays  # noqa: E402


def micros(call, repeats=500):
    call()
    return min(timeit.repeat(call, number=repeats, repeat=200)) / repeats * 1e6


def main():
    from arrays import Array

    library = tilesmith.open()
    a, b, d = Array((0, 64)), Array((64, 0)), Array((0, 0))
    print(f"__cuda_array_interface__   {micros(lambda: library.gemm(a, b, d, stream=0)):5.2f} us")
    try:
        import torch
    except ImportError:
        return
    _arrays.HOST_DEVICES_ALLOWED = True
    ta, tb, td = torch.empty(0, 64), torch.empty(64, 0), torch.empty(0, 0)
    bias = torch.empty(0)
    print(f"PyTorch, out given         {micros(lambda: library.gemm(ta, tb, td, stream=0)):5.2f} us")
    print(f"PyTorch, out given, bias   {micros(lambda: library.gemm(ta, tb, td, bias=bias, stream=0)):5.2f} us")
    print(f"PyTorch, out allocated     {micros(lambda: library.gemm(ta, tb, stream=0)):5.2f} us, of it torch.empty {micros(lambda: torch.empty((0, 0), dtype=ta.dtype, device=ta.device)):.2f} us")
    print(f"tilesmith.gemm, out given  {micros(lambda: tilesmith.gemm(ta, tb, td, stream=0)):5.2f} us")
    print(f"torch.mm, out given        {micros(lambda: torch.mm(ta, tb, out=td)):5.2f} us")
    from tilesmith.torch import enabled

    x = torch.ones(1, 1)
    own = micros(lambda: torch.mm(x, x))
    with enabled(_key="CPU"):
        served = micros(lambda: torch.mm(x, x))
    with enabled(levels=["generic"], _key="CPU"):
        forwarded = micros(lambda: torch.mm(x, x))
    print(f"torch.mm of 1x1            {own:5.2f} us; served in enabled() {served:.2f} us, forwarded {forwarded:.2f} us")


if __name__ == "__main__":
    main()
