"""The operator torch.ops.tilesmith.gemm: its gradient, its fake kernel, torch.compile."""

import pytest

torch = pytest.importorskip("torch")

import tilesmith.torch
from torch_host import host, same  # noqa: F401

ACTIVATIONS = [None, "relu", "gelu", "gelu_tanh", "silu", "swiglu", "swiglu_interleaved", "relu_squared"]


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_the_operator_on_other_devices_and_its_gradients(activation):
    a, b = torch.randn(5, 7, dtype=torch.float64, requires_grad=True), torch.randn(7, 4, dtype=torch.float64, requires_grad=True)
    bias = torch.randn(4, dtype=torch.float64, requires_grad=True)

    def call(a, b, bias):
        return tilesmith.torch.gemm(a, b, bias, activation, alpha=0.5)

    assert torch.autograd.gradcheck(call, (a, b, bias))
    batch = torch.randn(3, 5, 7, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(call, (batch, b, bias))


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_the_operator_has_a_fake_kernel(activation):
    from torch._subclasses.fake_tensor import FakeTensorMode

    shapes = [((5, 7), (7, 4)), ((3, 5, 7), (7, 4)), ((3, 5, 7), (3, 7, 4))]
    for shape_a, shape_b in shapes:
        real = tilesmith.torch.gemm(torch.randn(shape_a), torch.randn(shape_b), activation=activation)
        with FakeTensorMode():
            fake = tilesmith.torch.gemm(torch.randn(shape_a), torch.randn(shape_b), activation=activation)
        assert (fake.shape, fake.dtype, fake.stride()) == (real.shape, real.dtype, real.stride())
    with FakeTensorMode(), pytest.raises(RuntimeError, match="expected as many columns of a as rows of b"):
        tilesmith.torch.gemm(torch.randn(5, 7), torch.randn(6, 4))
    with pytest.raises(ValueError, match="activation is 'tanh'; expected None, 'relu'"):
        tilesmith.torch.gemm(torch.randn(5, 7), torch.randn(7, 4), activation="tanh")


def test_compile_keeps_the_operator():
    seen = []

    def backend(graph, inputs):
        seen.extend(node.target for node in graph.graph.nodes if node.op == "call_function")
        return graph.forward

    def model(a, b, bias):
        return tilesmith.torch.gemm(torch.relu(a), b, bias, "silu")

    operands = torch.randn(5, 7), torch.randn(7, 4), torch.randn(4)
    same(torch.compile(model, backend=backend, fullgraph=True)(*operands), model(*operands))
    assert any("tilesmith" in str(target) for target in seen)
    trained = [operand.clone().requires_grad_() for operand in operands]
    wanted = torch.autograd.grad(model(*trained).sum(), trained)
    got = torch.autograd.grad(torch.compile(model, backend="aot_eager", fullgraph=True)(*trained).sum(), trained)
    for one, other in zip(got, wanted):
        same(one, other)


def test_the_operator_takes_our_kernels_where_they_are(host):
    from tilesmith.torch import _operator

    a, b, bias = torch.randn(5, 7), torch.randn(7, 4), torch.randn(4)
    for activation in ACTIVATIONS:
        same(_operator._by_kernels(a, b, bias, activation, 0.5), _operator._by_pytorch(a, b, bias, activation, 0.5))
    assert host.record.runs == len(ACTIVATIONS)


def test_a_sparse_layer_takes_rows_of_its_width_alone(host):
    held = tilesmith.sparse.Sparse(torch.zeros(16, 64), torch.zeros(128, dtype=torch.int32), 16, 128, "f32")
    layer = tilesmith.torch.SparseLinear(held)
    for shape in ((16, 120), (128, 127), (2, 64), (4, 256), (), (0, 1)):
        with pytest.raises(RuntimeError, match=r"x is \[.*\]; expected 128 columns, the layer's in_features"):
            layer(torch.zeros(shape))
    assert host.record.runs == 0
    assert layer(torch.zeros(2, 3, 128)).shape == (2, 3, 16) and layer(torch.zeros(128)).shape == (16,) and host.record.runs == 2
