"""On a GPU, beside PyTorch. Run by: TILESMITH_LIBRARY=build/release/runtime/libtilesmith.so python3 -m pytest -m gpu tests/python/test_gpu.py"""

import os

import pytest

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # JAX leaves PyTorch some memory
torch = pytest.importorskip("torch")

import tilesmith
import tilesmith.torch

pytestmark = pytest.mark.gpu
ALL_LEVELS = ("exact", "trial", "model", "generic")
HOPPER = torch.cuda.is_available() and torch.cuda.get_device_capability() >= (9, 0)


@pytest.fixture(scope="module")
def library():
    """Without a database: the same kernels wherever the tests run."""
    with tilesmith.open() as opened:
        yield opened


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


def random(*shape, dtype=torch.float16):
    if dtype in (torch.int8, torch.uint8):
        return torch.randint(-8 if dtype == torch.int8 else 0, 8, shape, dtype=dtype, device="cuda")
    return torch.randn(*shape, device="cuda", dtype=torch.float64).to(dtype)


def close(got, a, b, of=lambda x: x, k=None):
    """Against f64, by what the operands' and the result's types can hold."""
    want = of(a.double() @ b.double())
    size = (a.double().abs() @ b.double().abs()).max()
    steps = {torch.float64: 2**-44, torch.float32: 2**-18, torch.float16: 2**-10, torch.bfloat16: 2**-7, torch.int32: 0.0}
    assert got.shape == want.shape and bool(torch.isfinite(got.double()).all())
    assert float((got.double() - want).abs().max()) <= steps[got.dtype] * float(size)


SHAPES = [(128, 256, 64), (1, 512, 512), (33, 17, 65)]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("layout_a, layout_b, layout_out", [("N", "N", "N"), ("N", "T", "N"), ("T", "N", "N"), ("T", "T", "T"), ("N", "N", "T")])
def test_types_and_layouts(library, dtype, layout_a, layout_b, layout_out):
    for m, n, k in SHAPES:
        a = random(m, k, dtype=dtype) if layout_a == "N" else random(k, m, dtype=dtype).t()
        b = random(k, n, dtype=dtype) if layout_b == "N" else random(n, k, dtype=dtype).t()
        out = torch.empty(m, n, device="cuda", dtype=dtype) if layout_out == "N" else torch.empty(n, m, device="cuda", dtype=dtype).t()
        assert library.gemm(a, b, out) is out
        close(out, a, b)


def test_outputs_of_other_types(library):
    for dtype in (torch.float16, torch.bfloat16):
        a, b = random(64, 128, dtype=dtype), random(128, 32, dtype=dtype)
        got = library.gemm(a, b, out_dtype=torch.float32)
        assert got.dtype == torch.float32
        close(got, a, b)
    a, b = random(64, 128, dtype=torch.int8), random(128, 32, dtype=torch.int8)
    assert torch.equal(library.gemm(a, b).double(), a.double() @ b.double())


@pytest.mark.parametrize("compute, bound", [(None, 2**-18), ("f32x3", 2**-18), ("tf32", 2**-9)])
def test_how_f32_is_multiplied(library, compute, bound):
    a, b = random(96, 256, dtype=torch.float32), random(256, 64, dtype=torch.float32)
    got, size = library.gemm(a, b, compute=compute).double(), (a.double().abs() @ b.double().abs()).max()
    assert float((got - a.double() @ b.double()).abs().max() / size) <= bound


@pytest.mark.skipif(not HOPPER, reason="8-bit floats are slow before sm_90")
def test_8_bit_floats_with_scales(library):
    a, b = random(64, 256, dtype=torch.float8_e4m3fn), random(48, 256, dtype=torch.float8_e4m3fn).t()
    r, c = torch.rand(64, 1, device="cuda"), torch.rand(1, 48, device="cuda")
    got = library.gemm(a, b, scale_m=r, scale_n=c)
    assert got.dtype == torch.bfloat16
    close(got, a, b, lambda x: x * r * c)


@pytest.mark.skipif(not HOPPER, reason="8-bit floats are slow before sm_90")
@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.int8])
@pytest.mark.parametrize("m, n, k", [(64, 256, 384), (300, 200, 400), (1, 136, 272)])
def test_8_bits_with_scales_of_blocks(library, m, n, k, dtype):
    a, b = random(m, k, dtype=dtype), random(n, k, dtype=dtype)
    blocks, of_columns = -(-k // 128), -(-n // 128)
    r, c = torch.rand(m, blocks, device="cuda"), torch.rand(of_columns, blocks, device="cuda")

    def scaled(x, scales, rows):
        return x.double() * scales.double().repeat_interleave(rows, 0).repeat_interleave(128, 1)[:x.shape[0], :k]

    for of_rows in (r.t().contiguous(), r.t().contiguous().t()):  # as it lies, and as PyTorch shows it
        got = library.gemm(a, b.t(), scale_m=of_rows, scale_n=c)
        close(got, scaled(a, r, 1), scaled(b, c, 128).t())


def test_strides_batches_and_slices(library):
    wide = random(5, 80, 96)
    a, b = wide[:, :64, 16:80], random(5, 64, 48)
    close(library.gemm(a, b), a, b)
    heads = random(32, 4, 64)  # tokens, heads, size
    q, k = heads.transpose(0, 1), heads.transpose(0, 1).transpose(1, 2)
    close(library.gemm(q, k), q, k)
    shared = random(64, 48)
    close(library.gemm(a, shared), a, shared.expand(5, 64, 48))
    out = torch.zeros(64, 128, device="cuda", dtype=torch.float16)
    library.gemm(a[0], b[0], out[:, 8:56])
    close(out[:, 8:56], a[0], b[0])
    assert not out[:, :8].any() and not out[:, 56:].any()


@pytest.mark.parametrize("activation", [None, "relu", "gelu", "gelu_tanh", "silu", "swiglu", "relu_squared"])
def test_bias_activation_alpha_beta(library, activation):
    from tilesmith.torch._operator import _activated

    a, b, bias = random(72, 64), random(64, 96) / 8, random(96)
    gated = activation == "swiglu"
    c = None if gated else random(72, 96)
    beta = 0.0 if gated else 0.5
    got = library.gemm(a, b, c=c, alpha=0.5, beta=beta, bias=bias, activation=activation)
    close(got, a, b, lambda x: _activated(0.5 * x + (0 if gated else 0.5 * c.double()) + bias.double(), activation))


def test_scalars_in_device_memory(library):
    a, b, out = random(64, 64), random(64, 64), random(64, 64)
    before, alpha, beta = out.double(), torch.full((1,), 2.0, device="cuda"), torch.full((), 0.5, device="cuda")
    library.gemm(a, b, out, alpha=alpha, beta=beta)
    close(out, a, b, lambda x: 2 * x + 0.5 * before)


def test_streams_are_obeyed(library):
    a, b = random(512, 512), random(512, 512)
    library.gemm(a, b)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    for given in (stream, stream.cuda_stream, None):
        out = torch.empty(512, 512, device="cuda", dtype=torch.float16)
        with torch.cuda.stream(stream):
            torch.cuda._sleep(20_000_000)
            x = a * 2
            if given is None:
                library.gemm(x, b, out)
        if given is not None:
            library.gemm(x, b, out, stream=given)
        stream.synchronize()
        close(out, x, b)


def test_graphs_replay_with_new_operands(library):
    a, b, out = random(64, 256), random(256, 64), torch.empty(64, 64, device="cuda", dtype=torch.float16)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        library.prepare(a, b, out)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        library.gemm(a, b, out)
    a.copy_(random(64, 256))
    graph.replay()
    torch.cuda.synchronize()
    close(out, a, b)


def test_a_capture_without_a_plan_is_an_error_of_its_own(library):
    a, b, out = random(40, 72), random(72, 24), torch.empty(40, 24, device="cuda", dtype=torch.float16)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        with pytest.raises(tilesmith.Error) as caught:
            library.gemm(a, b, out)
    assert caught.value.name == "not planned"


def test_other_libraries_arrays(library):
    cupy = pytest.importorskip("cupy")
    a, b = cupy.random.rand(64, 96).astype(cupy.float16), cupy.random.rand(96, 32).astype(cupy.float16)
    got = library.gemm(a, b)
    assert isinstance(got, cupy.ndarray)
    assert float(abs(got.astype(cupy.float64) - a.astype(cupy.float64) @ b.astype(cupy.float64)).max()) < 0.05


def test_jax_arrays(library):
    jax = pytest.importorskip("jax")
    a, b = jax.numpy.ones((64, 96), jax.numpy.bfloat16), jax.numpy.ones((96, 32), jax.numpy.bfloat16)
    out = torch.empty(64, 32, device="cuda", dtype=torch.bfloat16)
    jax.block_until_ready((a, b))
    library.gemm(a, b, out)
    torch.cuda.synchronize()
    assert bool((out == 96).all())


# ---- PyTorch's own products


def calls():
    a, b, c, row = random(64, 128), random(96, 128).t(), random(64, 96), random(96)
    x, y, z = random(6, 32, 64), random(6, 64, 48), random(6, 32, 48)
    listed = {
        "mm": lambda: a @ b, "addmm": lambda: torch.addmm(c, a, b, beta=0.5), "linear": lambda: torch.nn.functional.linear(a, b.t(), row),
        "bmm": lambda: x @ y, "baddbmm": lambda: torch.baddbmm(z, x, y, alpha=0.5),
        "mm of bf16": lambda: a.bfloat16() @ b.bfloat16(), "mm of f32": lambda: a.float() @ b.float(), "mm of f64": lambda: a.double() @ b.double(),
        "_int_mm": lambda: torch._int_mm(a.char(), b.char()).float(),
    }
    if HOPPER:
        e, f, one = a.to(torch.float8_e4m3fn), b.t().to(torch.float8_e4m3fn).t(), torch.full((), 0.5, device="cuda")
        listed["_scaled_mm"] = lambda: torch._scaled_mm(e, f, one, one, out_dtype=torch.bfloat16)
        listed["_scaled_mm, rows"] = lambda: torch._scaled_mm(e, f, torch.ones(64, 1, device="cuda"), torch.ones(1, 96, device="cuda"),
                                                               out_dtype=torch.bfloat16)
        if hasattr(torch, "_grouped_mm") and hasattr(torch.library, "get_kernel"):
            w = random(3, 96, 128, dtype=torch.bfloat16).transpose(1, 2)
            ends = torch.tensor([16, 16, 64], device="cuda", dtype=torch.int32)
            listed["_grouped_mm"] = lambda: torch._grouped_mm(a.bfloat16(), w, offs=ends)
    return listed


@pytest.mark.parametrize("name", list(calls()) if torch.cuda.is_available() else [])
def test_a_models_products_are_served(name):
    call = calls()[name]
    torch.manual_seed(0)
    want = call()
    with tilesmith.torch.enabled(levels=ALL_LEVELS) as serving:
        got = call()
        torch.cuda.synchronize()
    assert sum(serving.stats()["served"].values()) == 1 and not serving.stats()["forwarded"], serving.stats()
    assert got.dtype == want.dtype and got.stride() == want.stride()
    bound = 2e-2 if want.dtype in (torch.bfloat16, torch.float16) else 1e-5
    torch.testing.assert_close(got, want, rtol=bound, atol=bound * float(want.float().abs().max()))


def model():
    return torch.nn.Sequential(torch.nn.Linear(128, 256), torch.nn.GELU(), torch.nn.Linear(256, 64)).cuda().half()


def test_a_model_trains_with_the_same_gradients():
    net, x = model(), random(32, 128).requires_grad_()

    def gradients():
        return torch.autograd.grad(net(x).float().square().sum(), [x, *net.parameters()])

    want = gradients()
    with tilesmith.torch.enabled(levels=ALL_LEVELS) as serving:
        got = gradients()
    for one, other in zip(got, want):
        assert float((one.float() - other.float()).norm() / other.float().norm()) < 5e-3
    assert serving.stats()["served"]["mm"] >= 4 and serving.stats()["served"]["addmm"] == 2


def test_a_model_is_captured_after_a_run_and_forwarded_before():
    net, x = model(), random(32, 128)
    with torch.no_grad():
        net(x)  # cuBLAS makes its handle outside of a capture
    with torch.no_grad(), tilesmith.torch.enabled(levels=ALL_LEVELS) as serving:
        want = net(x)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            got = net(x)
        assert serving.stats()["served"] == {"addmm": 4}
        fresh = random(48, 128)
        early = torch.cuda.CUDAGraph()
        with torch.cuda.graph(early):
            net(fresh)
    assert any("captured" in reason for reason in serving.stats()["forwarded"]["addmm"])
    graph.replay()
    early.replay()
    torch.cuda.synchronize()
    torch.testing.assert_close(got, want)


def test_compiled_models_are_served():
    net, x = model(), random(32, 128)
    with torch.no_grad():
        want = net(x)
        with tilesmith.torch.enabled(levels=ALL_LEVELS) as serving:
            got = torch.compile(net)(x)
    torch.testing.assert_close(got, want, rtol=2e-2, atol=2e-2)
    if hasattr(torch.library, "get_kernel"):
        assert sum(serving.stats()["served"].values()) >= 2, serving.stats()


def test_the_operator_under_compile_and_autograd():
    a, b, bias = random(64, 128).requires_grad_(), random(128, 96).requires_grad_(), random(96).requires_grad_()

    def call(a, b, bias):
        return tilesmith.torch.gemm(a, b, bias, "silu")

    def plain(a, b, bias):
        return torch.nn.functional.silu(a @ b + bias)

    want, got = plain(a, b, bias), torch.compile(call, fullgraph=True)(a, b, bias)
    torch.testing.assert_close(got, want, rtol=2e-2, atol=2e-2 * float(want.abs().max()))
    for one, other in zip(torch.autograd.grad(call(a, b, bias).float().sum(), (a, b, bias)), torch.autograd.grad(want.float().sum(), (a, b, bias))):
        assert float((one.float() - other.float()).norm() / other.float().norm()) < 1e-2


def test_a_choice_for_inductor():
    a, b, out = random(64, 128), random(128, 96), torch.empty(64, 96, device="cuda", dtype=torch.float16)
    tilesmith.torch.external_matmul(a, b, out)
    close(out, a, b)
