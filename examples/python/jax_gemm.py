#!/usr/bin/env python3
"""A product of JAX arrays, which Tilesmith reads by DLPack. JAX has no arrays that may be written, and streams of its own. So the operands are
waited for, the result is written into a CuPy array, and JAX takes that array over when it is done.

Usage: jax_gemm.py      Needs JAX, CuPy and a GPU.
"""

import os

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # else CuPy finds no memory

import cupy
import jax
import jax.numpy as jnp

import tilesmith


def gemm(a, b, **how):
    """a b, as an array of JAX in f32. Not under jax.jit, which traces."""
    jax.block_until_ready((a, b))
    out = cupy.empty((a.shape[0], b.shape[1]), dtype=cupy.float32)
    stream = cupy.cuda.get_current_stream()
    tilesmith.gemm(a, b, out, stream=stream, **how)
    stream.synchronize()
    return jax.dlpack.from_dlpack(out)


def main():
    key_a, key_b = jax.random.split(jax.random.PRNGKey(0))
    a = jax.random.normal(key_a, (512, 2048), dtype=jnp.bfloat16)
    b = jax.random.normal(key_b, (2048, 1024), dtype=jnp.bfloat16)
    d = gemm(a, b, activation="silu")
    own = jax.nn.silu(jnp.matmul(a, b, preferred_element_type=jnp.float32))
    print("largest difference", float(abs(d - own).max()))


if __name__ == "__main__":
    main()
