"""2:4 sparse operands: what the library is given. The kernels are tried on a GPU (test_gpu.py)."""

import ctypes

import pytest

import tilesmith
from arrays import Array, Capsule, whole_numbers
from tilesmith import sparse


def of(rows, k, kind="f4", dtype="f32", words=None):
    words = (rows + 15) // 16 * ((k + 31) // 32 if dtype == "f32" else (k + 63) // 64) * 32 if words is None else words
    return sparse.Sparse(Array((rows, k // 2), kind, values=whole_numbers(1)), Array((words,), "i4"), rows, k, dtype)


def test_structs_are_those_of_the_header(stand_in):
    sizes = (ctypes.c_size_t * 2).in_dll(stand_in.lib, "stand_in_sparse_sizes")
    assert list(sizes) == [ctypes.sizeof(sparse.CSparseMatrix), ctypes.sizeof(sparse.CSparseFault)]


def test_a_problem_says_which_operand_is_sparse(stand_in):
    problem = tilesmith.Problem("f16f32f16", "NT", 16, 64, 128, sparsity="b")
    assert str(problem) == "f16f32f16 NT 16 64 128 sparsity=b_2to4"
    assert problem.c.sparsity == 2
    with pytest.raises(ValueError, match="sparsity is 'c'; expected None, 'a', 'b'"):
        tilesmith.Problem("f16f32f16", "NT", 16, 64, 128, sparsity="c")


@pytest.mark.parametrize("is_b", [False, True])
@pytest.mark.parametrize("turned", [False, True])
def test_the_sparse_operand_is_given_with_its_metadata(library, stand_in, is_b, turned):
    weight, other = of(24, 64), Array((7, 64) if is_b else (64, 7), "f4", values=whole_numbers(2))
    shape = (7, 24) if is_b else (24, 7)
    out = Array(shape, "f4", strides=(1, shape[0]) if turned else None)
    operands = (other, weight) if is_b else (weight, other)
    assert sparse.gemm(*operands, out, library=library) is out
    problem, args = stand_in.problem, stand_in.record.args
    on_b = is_b != turned
    assert problem.sparsity == (2 if on_b else 1)
    assert problem.type == b"tf32f32"
    assert (args.b if on_b else args.a) == weight.values.address
    assert args.metadata == weight.metadata.address
    assert problem.transposes.decode()[1 if on_b else 0] == ("T" if on_b else "N")
    assert problem.k == 64 and (problem.ldb if on_b else problem.lda) == 0


def test_a_linear_layer_has_bias_and_activation(library, stand_in):
    weight, x, bias, out = of(24, 64), Array((7, 64), "f4"), Array((24,), "f4"), Array((7, 24), "f4")
    sparse.linear(x, weight, bias, activation="relu", out=out, library=library)
    assert stand_in.problem.activation == 1 and stand_in.problem.bias == 1
    assert stand_in.record.args.bias == bias.address


@pytest.mark.parametrize("operands, words", [
    (lambda: (of(24, 64), of(24, 64)), "both Sparse"),
    (lambda: (Array((8, 64)), Array((64, 8))), "neither Sparse"),
    (lambda: (of(24, 64, words=64), Array((64, 7))), "metadata is 64 of s32; expected 128 of s32"),
    (lambda: (of(24, 64), Array((32, 7))), "as many columns of a as rows of b"),
    (lambda: (of(24, 64)._replace(rows=20), Array((64, 7))), "values is 24x32 of f32; expected 20x32 of f32"),
])
def test_what_does_not_fit_is_told_in_one_line(library, stand_in, operands, words):
    runs = stand_in.record.runs
    with pytest.raises((TypeError, ValueError), match=words):
        sparse.gemm(*operands(), Array((24, 7)), library=library)
    assert stand_in.record.runs == runs


class Last(ctypes.Structure):
    """The last call that makes or checks something (stand_in_sparse.h)."""

    _fields_ = [("name", ctypes.c_char * 32), ("rows", ctypes.c_int64), ("k", ctypes.c_int64), ("ld_dense", ctypes.c_int64), ("runs", ctypes.c_int64),
                ("source", ctypes.c_void_p), ("source_metadata", ctypes.c_void_p), ("to", ctypes.c_void_p), ("to_metadata", ctypes.c_void_p),
                ("stream", ctypes.c_uint64)]


@pytest.fixture
def last(stand_in):
    ctypes.c_int64.in_dll(stand_in.lib, "stand_in_sparse_wrong").value = 0
    made = Last.in_dll(stand_in.lib, "stand_in_sparse")
    made.name, made.runs = b"", 0
    return made


@pytest.mark.parametrize("by, name", [("strips", b"prune"), ("tiles", b"prune_tiles")])
def test_arrays_of_any_kind_are_pruned_into_what_is_given(library, last, by, name):
    dense, out = Array((8, 64)), Array((8, 64))
    assert sparse.prune(dense, out, by=by, library=library) is out
    assert (last.name, last.rows, last.k, last.source, last.to, last.stream) == (name, 8, 64, dense.address, out.address, 0)
    capsule = Capsule(dense)
    assert sparse.prune(capsule, capsule, by=by, stream=77, library=library) is capsule  # in place
    assert (last.source, last.to, last.stream, set(capsule.streams)) == (dense.address, dense.address, 77, {77})


def test_values_and_metadata_go_where_they_are_wanted_and_back(library, stand_in, last):
    dense, values, metadata, back = Array((24, 64)), Array((24, 32)), Array((128,), "i4"), Array((24, 64))
    assert sparse.sizes("f32", 24, 64) == ((24, 32), 128)
    held = sparse.compress(Capsule(dense), (Capsule(values), metadata), library=library)
    assert (last.name, last.source, last.to, last.to_metadata) == (b"compress", dense.address, values.address, metadata.address)
    assert held.shape == (24, 64) and held.metadata is metadata
    assert sparse.decompress(held, back, library=library) is back
    assert (last.name, last.source, last.source_metadata, last.to) == (b"decompress", values.address, metadata.address, back.address)
    x, out = Array((7, 64), values=whole_numbers(1)), Array((7, 24))
    assert sparse.gemm(Capsule(x), held, out, stream=5, library=library) is out
    assert (stand_in.record.args.a, stand_in.record.args.b, stand_in.record.stream) == (x.address, values.address, 5)
    ctypes.c_int64.in_dll(stand_in.lib, "stand_in_sparse_wrong").value = 2
    with pytest.raises(ValueError, match="not 2:4 sparse in 2 groups, the first at row 3, column 8"):
        sparse.compress(dense, (values, metadata), library=library)
    assert last.name == b"check"


@pytest.mark.parametrize("call, words", [
    (lambda on: sparse.prune(Array((8, 64)), library=on), "out is None, and arrays of arrays are not allocated here; expected out, 8x64 of f32"),
    (lambda on: sparse.prune(Array((8, 64)), Array((8, 32)), library=on), "out is 8x32 of f32; expected 8x64 of f32"),
    (lambda on: sparse.prune(Array((8, 64)), Array((8, 64), "i4"), library=on), "out is 8x64 of s32; expected 8x64 of f32"),
    (lambda on: sparse.prune(Array((8, 64)), Array((8, 64), strides=(80, 1)), library=on), "out has strides .*; expected packed rows"),
    (lambda on: sparse.prune(Array((8, 64)), Array((8, 64), read_only=True), library=on), "out may not be written"),
    (lambda on: sparse.prune(Array((8, 64)), Array((8, 64)), by="rows", library=on), "by is 'rows'; expected 'strips' or 'tiles'"),
    (lambda on: sparse.compress(Array((8, 64)), (Array((8, 32)), Array((64,), "f4")), library=on), "metadata is 64 of f32; expected 64 of s32"),
    (lambda on: sparse.prune([1], Array((8, 64)), library=on), "dense is a builtins.list; expected an array on a CUDA device"),
])
def test_what_is_made_must_fit(library, last, call, words):
    with pytest.raises((TypeError, ValueError), match=words):
        call(library)
    assert last.name in (b"", b"check")


@pytest.mark.parametrize("out", [Array((7, 1)), Array((7, 1), strides=(1, 7)), Array((7, 1), strides=(3, 1))])
def test_a_sparse_matrix_of_one_row_is_a_transpose(library, stand_in, out):
    held = sparse.Sparse(Array((1, 32)), Array((64,), "i4"), 1, 64, "f32")
    sparse.gemm(Array((7, 64)), held, out, library=library)
    assert (stand_in.problem.transposes, stand_in.problem.n, stand_in.problem.k, stand_in.problem.ldb, stand_in.problem.sparsity) == (b"NT", 1, 64, 0, 2)
    sparse.gemm(held, Array((64, 7)), Array((1, 7)), library=library)
    assert (stand_in.problem.transposes, stand_in.problem.m, stand_in.problem.sparsity) == (b"NN", 1, 1)


def test_a_dense_matrix_whose_rows_overlap_or_do_not_move_is_refused(library, last):
    for strides in ((0, 1), (32, 1), (64, 0), (1, 8)):
        with pytest.raises(ValueError, match="dense (is|has) .*strides .*; expected"):
            sparse.faults(Array((8, 64), strides=strides), library=library)
    assert last.runs == 0
    sparse.faults(Array((1, 64), strides=(0, 1)), library=library)
    assert last.ld_dense == 0


def test_sizes_are_whole_numbers(library):
    with pytest.raises(TypeError, match="rows is '8'; expected a whole number"):
        sparse.sizes("f32", "8", 64)
    with pytest.raises(ValueError, match="elements are 5; expected one of f16"):
        sparse.sizes(5, 8, 64)
