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
