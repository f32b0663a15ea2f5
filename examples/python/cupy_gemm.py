#!/usr/bin/env python3
"""A product of CuPy arrays with a bias and an activation, beside CuPy's own.

Usage: cupy_gemm.py     Needs CuPy and a GPU.
"""

import cupy

import tilesmith


def main():
    rows, columns, depth = 512, 1024, 2048
    a = cupy.random.standard_normal((rows, depth), dtype=cupy.float32).astype(cupy.float16)
    w = cupy.random.standard_normal((columns, depth), dtype=cupy.float32).astype(cupy.float16) / 32
    bias = cupy.random.standard_normal(columns, dtype=cupy.float32).astype(cupy.float16)

    d = tilesmith.gemm(a, w.T, bias=bias, activation="relu")  # w.T is a view: nothing is copied

    own = cupy.maximum(a.astype(cupy.float32) @ w.T.astype(cupy.float32) + bias, 0)
    print("largest difference", float(abs(d.astype(cupy.float32) - own).max()))
    print(tilesmith.default_library(0).explain(a, w.T, d, bias=bias, activation="relu"))

    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:  # the current stream is taken
        tilesmith.gemm(a, w.T, d)
    tilesmith.gemm(a, w.T, d, stream=stream)  # or one that is named
    stream.synchronize()


if __name__ == "__main__":
    main()
