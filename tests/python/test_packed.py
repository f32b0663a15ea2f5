"""Arrays of bytes whose elements take less: which are multiplied, and what is told of wrong ones."""

import random

import pytest

import tilesmith
from arrays import Array, packed

OF_BYTE = {"s4": 2, "u4": 2, "b1": 8, "b1xor": 8}
PAIRS = {"s4": "s4s32", "u4": "u4s32", "b1": "b1s32", "b1xor": "b1xors32"}


def bytes_of(shape, seed, strides=None):
    numbers = random.Random(seed)
    return Array(shape, "u1", strides, lambda *index: numbers.randint(0, 255))


def element(byte, at, kind):
    bits = 8 // OF_BYTE[kind]
    value = byte >> at * bits & (1 << bits) - 1
    return value - 16 if kind == "s4" and value > 7 else value


@pytest.mark.parametrize("kind", list(PAIRS))
@pytest.mark.parametrize("a_along_k", [True, False])
@pytest.mark.parametrize("b_along_k", [True, False])
def test_elements_lie_along_the_contiguous_dimension(library, stand_in, kind, a_along_k, b_along_k):
    of_byte = OF_BYTE[kind]
    m, n, k = 3 if a_along_k else 2 * of_byte, 5 if b_along_k else of_byte, 2 * of_byte
    a = bytes_of((m, 2), 1) if a_along_k else bytes_of((m // of_byte, k), 1, (1, m // of_byte))
    b = bytes_of((2, n), 2, (1, 2)) if b_along_k else bytes_of((k, n // of_byte), 2)
    d = Array((m, n), "i4")
    assert library.gemm(a, b, d, compute=kind, alpha=3) is d

    def of(array, i, j, along_columns):
        i, j, at = (i, j // of_byte, j % of_byte) if along_columns else (i // of_byte, j, i % of_byte)
        return element(array[i, j], at, kind)

    for i in range(m):
        for j in range(n):
            pairs = [(of(a, i, l, a_along_k), of(b, l, j, not b_along_k)) for l in range(k)]
            assert d[i, j] == 3 * sum(x != y if kind == "b1xor" else x * y for x, y in pairs)
    problem = stand_in.problem
    assert problem.type.decode() == PAIRS[kind] and (problem.m, problem.n, problem.k) == (m, n, k)
    assert problem.transposes.decode() == ("N" if a_along_k else "T") + ("T" if b_along_k else "N")


def test_rows_may_lie_apart_and_batches_too(library, stand_in):
    a, b, d = bytes_of((3, 4), 1, (7, 1)), bytes_of((4, 5), 2, (1, 6)), Array((3, 5), "i4")
    library.gemm(a, b, d, compute="u4")
    assert (stand_in.problem.lda, stand_in.problem.ldb, stand_in.problem.k) == (14, 12, 8)
    a, b, d = bytes_of((2, 3, 4), 1), bytes_of((2, 4, 5), 2, (24, 1, 4)), Array((2, 3, 5), "i4")
    library.prepare(a, b, d, compute="b1")
    assert (stand_in.problem.batch, stand_in.problem.stride_b, stand_in.problem.k) == (2, 192, 32)


@pytest.mark.parametrize("given, says", [
    (dict(a=Array((3, 4), "i1")), r"^a is s8; expected u8 with compute='s4', 2 elements a byte$"),
    (dict(b=Array((4, 5), "f4")), r"^b is f32; expected u8 with compute='s4', 2 elements a byte$"),
    (dict(b=bytes_of((4, 5), 2)), r"^a is 3x8 and b 4x10; expected as many columns of a as rows of b$"),
    (dict(a=bytes_of((4,), 2)), r"^a has 1 dimensions, 4; expected 2, or 3 of a batch$"),
    (dict(out=Array((3, 5), "f4")), r"^the output is f32; expected s32 of a product of s4$"),
])
def test_wrong_arrays_are_told_of_in_one_line(library, given, says):
    operands = dict(a=bytes_of((3, 4), 1), b=bytes_of((4, 5), 2, (1, 4)), out=Array((3, 5), "i4"))
    operands.update(given)
    with pytest.raises(ValueError, match=says.replace("3x8 and b 4x10", r"3x\d+ and b \d+x\d+")):
        library.gemm(compute="s4", **operands)


def test_bytes_as_numbers_stay_numbers(library, stand_in):
    a, b, d = bytes_of((3, 4), 1), bytes_of((4, 5), 2), Array((3, 5), "i4")
    library.gemm(a, b, d)
    assert stand_in.problem.type.decode() == "u8s32"
    with pytest.raises(ValueError, match=r"expected None or 's32' or 's4' or 'u4' or 'b1' or 'b1xor' for u8 to s32"):
        library.gemm(a, b, d, compute="s2")


@pytest.mark.parametrize("kind", list(PAIRS))
@pytest.mark.parametrize("strides", [(1, 2), (1, 1), (1, 99), (1, 0)])
def test_one_column_of_bytes_lies_along_k_where_a_says_so(library, stand_in, kind, strides):
    of_byte = OF_BYTE[kind]
    a, b, d = bytes_of((3, 2), 1), bytes_of((2, 1), 2, strides), Array((3, 1), "i4")
    library.gemm(a, b, d, compute=kind)
    assert (stand_in.problem.transposes, stand_in.problem.n, stand_in.problem.k) == (b"NT", 1, 2 * of_byte)
    for i in range(3):
        pairs = [(element(a[i, l // of_byte], l % of_byte, kind), element(b[l // of_byte, 0], l % of_byte, kind)) for l in range(2 * of_byte)]
        assert d[i, 0] == sum(x != y if kind == "b1xor" else x * y for x, y in pairs)
    rows = bytes_of((2 * of_byte, 1), 3, (1, 1))  # as many rows as A has columns: a row is a byte
    library.gemm(a, rows, Array((3, of_byte), "i4"), compute=kind)
    assert (stand_in.problem.transposes, stand_in.problem.n, stand_in.problem.k) == (b"NN", of_byte, 2 * of_byte)


def test_one_row_of_bytes_is_read_as_out_has_it(library, stand_in):
    for shape, letters, k in (((1, 1), b"NT", 16), ((8, 8), b"TN", 2)):
        library.gemm(bytes_of((1, 2), 1, (5, 1)), bytes_of((2, 1), 2, (1, 7)), Array(shape, "i4"), compute="b1")
        assert (stand_in.problem.transposes, stand_in.problem.m, stand_in.problem.k) == (letters, shape[0], k)
    assert library.problem(bytes_of((1, 2), 1), bytes_of((2, 1), 2), Array((1, 1), "i4"), compute="b1").c.lda == 0
