"""Products of arrays in every layout: the stand-in multiplies in host memory, so that a wrong layout gives wrong numbers."""

import math

import pytest

import tilesmith
from arrays import Array, by_columns, packed, product, whole_numbers
from tilesmith import _abi


def array(shape, seed, layout="rows", kind="f4", pad=0):
    strides = {"rows": packed, "columns": by_columns}[layout](shape)
    if pad:  # rows (columns) farther apart
        *outer, rows, columns = shape
        extent = columns + pad if layout == "rows" else rows + pad
        other = rows if layout == "rows" else columns
        strides = ((extent, 1) if layout == "rows" else (1, extent))
        if outer:
            strides = (extent * other + 16, *strides)
    return Array(shape, kind, strides, whole_numbers(seed))


def check(d, a, b, of=lambda value, row, column: value):
    for row in range(d.shape[-2]):
        for column in range(d.shape[-1]):
            for entry in range(d.shape[0]) if len(d.shape) == 3 else [None]:
                index = (row, column) if entry is None else (entry, row, column)
                want = of(product(a, b, row, column, () if entry is None else (entry,)), row, column)
                assert d[index] == pytest.approx(want, abs=1e-4), index


@pytest.mark.parametrize("layout_a", ["rows", "columns"])
@pytest.mark.parametrize("layout_b", ["rows", "columns"])
@pytest.mark.parametrize("layout_d", ["rows", "columns"])
@pytest.mark.parametrize("pad", [0, 3])
def test_layouts_are_told_from_strides(library, stand_in, layout_a, layout_b, layout_d, pad):
    a, b = array((5, 7), 1, layout_a, pad=pad), array((7, 3), 2, layout_b, pad=pad)
    d = array((5, 3), 3, layout_d, pad=pad)
    assert library.gemm(a, b, d) is d
    check(d, a, b)
    letters = ("T" if layout_a == "columns" else "N") + ("T" if layout_b == "columns" else "N")
    if layout_d == "columns":  # the transpose is computed: B^T A^T
        letters = "".join("N" if letter == "T" else "T" for letter in reversed(letters))
    assert stand_in.problem.transposes.decode() == letters
    assert stand_in.record.runs == 1


@pytest.mark.parametrize("layout", ["rows", "columns"])
def test_batches_are_strided(library, stand_in, layout):
    a, b, d = array((4, 5, 6), 1, layout), array((4, 6, 3), 2, "columns"), array((4, 5, 3), 3)
    library.gemm(a, b, d)
    check(d, a, b)
    assert (stand_in.problem.batch, stand_in.problem.stride_a, stand_in.problem.stride_b) == (4, -1, -1)


def test_entries_side_by_side_within_rows(library, stand_in):
    heads, tokens, size = 3, 4, 8  # attention: (tokens, heads, size) seen as (heads, tokens, size)
    a = Array((heads, tokens, size), strides=(size, heads * size, 1), values=whole_numbers(1))
    b = Array((heads, size, 5), values=whole_numbers(2))
    d = Array((heads, tokens, 5), strides=(5, heads * 5, 1))
    library.gemm(a, b, d)
    check(d, a, b)
    assert (stand_in.problem.stride_a, stand_in.problem.stride_c, stand_in.problem.ldc) == (8, 5, 15)


def test_one_matrix_serves_all_entries(library, stand_in):
    a, b, d = array((4, 5, 6), 1), array((6, 3), 2), array((4, 5, 3), 3)
    library.gemm(a, b, d)
    check(d, a, b)
    assert stand_in.problem.stride_b == 0
    expanded = Array((4, 6, 3), strides=(0, 3, 1), values=lambda e, i, j: b[i, j])
    library.gemm(a, expanded, d)
    check(d, a, b)
    assert stand_in.problem.stride_b == 0


def test_matrices_of_one_row_or_column(library):
    for m, n, k in ((1, 3, 5), (4, 1, 5), (4, 3, 1), (1, 1, 1)):
        for layout in ("rows", "columns"):
            a, b, d = array((m, k), 1, layout), array((k, n), 2, layout), array((m, n), 3, layout)
            library.gemm(a, b, d)
            check(d, a, b)
    a = Array((3, 1), strides=(7, 1), values=whole_numbers(4))  # a column of a wider matrix
    b, d = array((1, 4), 5), Array((3, 4))
    library.gemm(a, b, d)
    check(d, a, b)


def test_alpha_beta_and_c(library, stand_in):
    a, b, c = array((5, 6), 1), array((6, 3), 2), array((5, 3), 3)
    d = Array((5, 3))
    library.gemm(a, b, d, alpha=2, beta=-0.5, c=c)
    check(d, a, b, lambda value, i, j: 2 * value - 0.5 * c[i, j])
    assert stand_in.problem.c_is_apart == 1 and stand_in.problem.beta_is_zero == 0
    before = {index: d[index] for index in d.indices()}
    library.gemm(a, b, d, beta=1)  # added to
    check(d, a, b, lambda value, i, j: value + before[i, j])
    assert stand_in.record.args.c is None and stand_in.problem.c_is_apart == 0
    library.gemm(a, b, d, beta=0, c=c)  # not read
    check(d, a, b)
    assert stand_in.record.args.c is None and stand_in.problem.beta_is_zero == 1
    library.gemm(a, b, d, beta=3.0, c=d)
    check(d, a, b, lambda value, i, j: 4 * value)


@pytest.mark.parametrize("layout_d", ["rows", "columns"])
@pytest.mark.parametrize("shape", [(3,), (1, 3), (5, 1)])
def test_bias_scales_and_activation(library, stand_in, layout_d, shape):
    a, b, d = array((5, 6), 1), array((6, 3), 2), array((5, 3), 3, layout_d)
    bias = Array(shape, values=whole_numbers(4))
    r, c = Array((5,), values=whole_numbers(5)), Array((1,), values=lambda i: 0.25)
    library.gemm(a, b, d, bias=bias, scale_m=r, scale_n=c, activation="silu", alpha=0.125)

    def expected(value, i, j):
        at = bias[j] if len(shape) == 1 else bias[0, j] if shape[0] == 1 else bias[i, 0]
        x = 0.125 * value * r[i] * 0.25 + at
        return x / (1 + math.exp(-x))

    check(d, a, b, expected)
    along_m = (shape == (5, 1)) != (layout_d == "columns")
    assert stand_in.problem.bias == (2 if along_m else 1)


@pytest.mark.parametrize("gate", ["swiglu", "swiglu_interleaved"])
def test_gates_have_half_the_columns(library, gate):
    a, b, d = array((2, 4), 1), array((4, 6), 2), Array((2, 3))
    library.gemm(a, b, d, activation=gate)
    for i in range(2):
        for j in range(3):
            x, y = (product(a, b, i, column) for column in ((j, 3 + j) if gate == "swiglu" else (2 * j, 2 * j + 1)))
            assert d[i, j] == pytest.approx(x / (1 + math.exp(-x)) * y, rel=1e-5)


def test_groups_of_rows(library, stand_in):
    a, b, d = array((9, 4), 1), array((3, 4, 5), 2, "columns"), Array((9, 5), values=lambda i, j: -1)
    ends = Array((3,), "i4", values=lambda g: (2, 2, 7)[g])
    library.gemm(a, b, d, offsets=ends)
    for row in range(9):
        for column in range(5):
            group = 0 if row < 2 else 2
            want = sum(a[row, l] * b[group, l, column] for l in range(4)) if row < 7 else -1
            assert d[row, column] == want
    assert (stand_in.problem.batch_mode, stand_in.problem.batch) == (_abi.GROUPED, 3) and stand_in.problem.transposes == b"NT"


@pytest.mark.parametrize("kind, output, pair", [("f8", "f8", b"f64f64"), ("i1", "i4", b"s8s32"), ("u1", "i4", b"u8s32")])
def test_other_types(library, stand_in, kind, output, pair):
    a, b, d = array((5, 6), 1, kind=kind), array((6, 3), 2, "columns", kind=kind), Array((5, 3), output)
    if kind == "u1":
        for matrix in (a, b):
            for index in matrix.indices():
                matrix[index] = matrix[index] % 5
    library.gemm(a, b, d, alpha=2)
    check(d, a, b, lambda value, i, j: 2 * value)
    assert stand_in.problem.type == pair and stand_in.record.alpha == 2


def test_how_sums_are_made(library, stand_in):
    a, b, d = array((5, 6), 1), array((6, 3), 2), Array((5, 3))
    for compute, pair in ((None, b"f32f32"), ("f32", b"f32f32"), ("tf32", b"tf32f32"), ("f32x3", b"f32x3f32")):
        library.gemm(a, b, d, compute=compute)
        assert stand_in.problem.type == pair
        check(d, a, b)
    half = Array((8, 8), "f2")
    for compute, pair in ((None, b"f16f32f16"), ("f32", b"f16f32f16"), ("f16", b"f16f16")):
        library.gemm(half, half, Array((8, 8), "f2"), compute=compute)
        assert stand_in.problem.type == pair
    library.gemm(half, half, Array((8, 8)))
    assert stand_in.problem.type == b"f16f32"


def test_alpha_and_beta_in_device_memory(library, stand_in):
    a, b, d = array((5, 6), 1), array((6, 3), 2), Array((5, 3), values=whole_numbers(3))
    before = {index: d[index] for index in d.indices()}
    alpha, beta = Array((1,), values=lambda i: 3), Array((), values=lambda: 2)
    library.gemm(a, b, d, alpha=alpha, beta=beta)
    check(d, a, b, lambda value, i, j: 3 * value + 2 * before[i, j])
    assert stand_in.problem.scalars_on_device == 1
    assert (stand_in.record.args.alpha, stand_in.record.args.beta) == (alpha.address, beta.address)
    library.gemm(a, b, d, alpha=alpha)
    check(d, a, b, lambda value, i, j: 3 * value)


def test_alignment_is_part_of_the_problem(library):
    b, d = array((8, 4), 2), Array((4, 4))
    assert library.problem(array((4, 8), 1), b, d).c.align_bytes == 16
    assert library.problem(Array((4, 8), shift=2), b, d).c.align_bytes == 8
    assert library.problem(Array((4, 8), shift=1), b, d).c.align_bytes == 4
    c = Array((4, 4), shift=1)
    assert library.problem(array((4, 8), 1), b, d, c=c, beta=1).c.align_bytes == 4


def test_empty_products_are_accepted(library, stand_in):
    library.gemm(Array((0, 8)), Array((8, 4)), Array((0, 4)))
    assert (stand_in.problem.m, stand_in.record.runs) == (0, 1)
    d = Array((3, 4), values=lambda i, j: 7)
    library.gemm(Array((3, 0)), Array((0, 4)), d)
    assert d[2, 3] == 0


class Stream:
    def __init__(self, **fields):
        self.__dict__.update(fields)


def test_streams_are_numbers_or_objects(library, stand_in):
    a, b, d = array((5, 6), 1), array((6, 3), 2), Array((5, 3))
    for stream, number in ((None, 0), (0, 0), (77, 77), (Stream(cuda_stream=78), 78), (Stream(ptr=79), 79)):
        library.gemm(a, b, d, stream=stream)
        assert stand_in.record.stream == number

    class Core:
        def __cuda_stream__(self):
            return 0, 80

    library.gemm(a, b, d, stream=Core())
    assert stand_in.record.stream == 80


def test_layouts_are_prepared_once(library):
    a, b, d = array((5, 6), 1), array((6, 3), 2), Array((5, 3))
    for _ in range(3):
        library.gemm(a, b, d)
    assert len(library._prepared) == 1
    library.gemm(a, b, d, activation="relu")
    assert len(library._prepared) == 2
    check_relu = [max(product(a, b, i, j), 0) for i, j in d.indices()]
    assert [d[index] for index in d.indices()] == check_relu


def test_the_default_library_is_opened_once(stand_in):
    a, b, d = array((5, 6), 1), array((6, 3), 2), Array((5, 3))
    tilesmith.gemm(a, b, d)
    tilesmith.gemm(a, b, d)
    check(d, a, b)
    assert stand_in.record.opened == 1
