"""2:4 sparse operands on a GPU. Run by: TILESMITH_LIBRARY=build/release/runtime/libtilesmith.so python3 -m pytest -m gpu tests/python/test_gpu_sparse.py"""

import pytest

torch = pytest.importorskip("torch")

import tilesmith
import tilesmith.torch
from test_gpu import close, library, random, seeded  # noqa: F401
from tilesmith import sparse

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.int8])
def test_sparse_operands(library, dtype):
    dense = sparse.prune(random(72, 192, dtype=dtype), library=library)
    weight = sparse.compress(dense, library=library)
    assert torch.equal(sparse.decompress(weight, library=library), dense)
    sparse.check_metadata(weight, library=library)
    x, b = random(33, 192, dtype=dtype), random(192, 40, dtype=dtype)
    left, right = sparse.gemm(weight, b, library=library), sparse.gemm(x, weight, library=library)
    if dtype is torch.float32:  # multiplied as tf32
        assert float((left - dense @ b).abs().max()) < 0.05 and float((right - x @ dense.t()).abs().max()) < 0.05
    else:
        close(left, dense, b)
        close(right, x, dense.t())
    with pytest.raises(ValueError, match="not 2:4 sparse in .* groups, the first at row 0, column 0"):
        sparse.compress(torch.ones(16, 64, device="cuda", dtype=dtype), library=library)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.int8])
def test_what_is_pruned_by_tiles_is_sparse_both_ways(library, dtype):
    dense = random(72, 192, dtype=dtype)
    kept = sparse.prune(dense, by="tiles", library=library)
    assert sparse.faults(kept, library=library)[0] == 0 and sparse.faults(kept.t().contiguous(), library=library)[0] == 0
    strips = sparse.prune(dense, library=library)
    total = kept.double().abs().sum()
    assert bool(((kept == dense) | (kept == 0)).all()) and 0.8 * float(strips.double().abs().sum()) < float(total) <= float(strips.double().abs().sum())
    weight, turned = sparse.compress(kept, library=library), sparse.compress(kept.t().contiguous(), library=library)
    x, grad = random(33, 192, dtype=dtype), random(33, 72, dtype=dtype)
    if dtype is not torch.float32:
        close(sparse.linear(x, weight, library=library), x, kept.t())
        close(sparse.linear(grad, turned, library=library), grad, kept)


class Environment:
    """A tensor of which only DLPack is seen."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()

    def __dlpack__(self, stream=None):
        return self.tensor.__dlpack__(stream=stream)


class Interface:
    """A tensor of which only __cuda_array_interface__ is seen."""

    def __init__(self, tensor):
        self.tensor = tensor

    @property
    def __cuda_array_interface__(self):
        return self.tensor.__cuda_array_interface__


@pytest.mark.parametrize("kind", [Environment, Interface])
def test_arrays_of_other_libraries_are_pruned_compressed_and_multiplied(library, kind):
    dense, x, out = random(64, 128), random(9, 128), random(9, 64)
    shape, words = sparse.sizes("f16", 64, 128)
    values, metadata, back = random(*shape), torch.zeros(words, dtype=torch.int32, device="cuda"), random(64, 128)
    torch.cuda.synchronize()
    sparse.prune(kind(dense), kind(dense), by="tiles", library=library)
    held = sparse.compress(kind(dense), (kind(values), kind(metadata)), library=library)
    sparse.decompress(held, kind(back), library=library)
    sparse.linear(kind(x), held, out=kind(out), library=library)
    torch.cuda.synchronize()
    assert torch.equal(back, dense)
    close(out, x, dense.t())


def test_arrays_of_cupy_are_pruned_compressed_and_multiplied(library):
    cupy = pytest.importorskip("cupy")
    dense = cupy.random.standard_normal((64, 128), dtype=cupy.float32).astype(cupy.float16)
    x = cupy.random.standard_normal((9, 128), dtype=cupy.float32).astype(cupy.float16)
    kept = sparse.prune(dense, by="tiles", library=library)
    held = sparse.compress(kept, library=library)
    assert isinstance(held.values, cupy.ndarray) and bool((sparse.decompress(held, library=library) == kept).all())
    y = sparse.linear(x, held, library=library)
    want = x.astype(cupy.float64) @ kept.astype(cupy.float64).T
    assert isinstance(y, cupy.ndarray) and float(abs(y - want).max()) < 0.05


def test_a_sparse_linear_layer_by_tiles():
    linear = torch.nn.Linear(256, 96, device="cuda", dtype=torch.float16)
    layer = tilesmith.torch.SparseLinear.from_linear(linear, prune="tiles")
    assert tilesmith.sparse.faults(tilesmith.sparse.decompress(layer.weight).t().contiguous())[0] == 0
    with pytest.raises(ValueError, match="by is 'rows'; expected 'strips' or 'tiles'"):
        tilesmith.torch.SparseLinear.from_linear(linear, prune="rows")


def test_a_sparse_linear_layer():
    linear = torch.nn.Linear(256, 96, device="cuda", dtype=torch.float16)
    layer = tilesmith.torch.SparseLinear.from_linear(linear, prune=True, activation="relu")
    x = random(2, 5, 256)
    dense = tilesmith.sparse.decompress(layer.weight)
    want = torch.relu(x.double() @ dense.double().t() + linear.bias.double())
    assert layer(x).shape == (2, 5, 96)
    assert float((layer(x).double() - want).abs().max()) < 0.02
    weight = tilesmith.torch.to_sparse_semi_structured(dense)
    assert torch.equal(weight.values, layer.values) and torch.equal(weight.metadata, layer.metadata)
