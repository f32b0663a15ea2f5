"""Weights in 4 and 8 bits on a GPU, beside PyTorch. Run as test_gpu.py is."""

import pytest

torch = pytest.importorskip("torch")

import tilesmith
import tilesmith.torch
import tilesmith.weights

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def library():
    with tilesmith.open() as opened:
        yield opened


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


def random(*shape, dtype=torch.float16):
    return torch.randn(*shape, device="cuda").to(dtype)


def close(got, x, w, of=lambda y: y):
    """Against f64, by what the result's type can hold: of the products' sums, and of results that a bias makes larger than these."""
    want = of(x.double() @ w.double())
    size = max(float((x.double().abs() @ w.double().abs()).max()), float(want.abs().max()))
    step = {torch.float16: 2**-10, torch.bfloat16: 2**-7, torch.float32: 2**-10}[got.dtype]
    assert got.shape == want.shape and float((got.double() - want).abs().max()) <= step * size


CODEBOOKS = {"e2m1": torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6]),
             "nf4": torch.tensor([-1, -0.6961928, -0.52507305, -0.39491749, -0.28444138, -0.18477343, -0.091050036, 0,
                                  0.0795803, 0.1609302, 0.2461123, 0.33791524, 0.44070983, 0.562617, 0.72295684, 1])}


@pytest.mark.parametrize("kind", ["s4", "u4", "s8", "e4m3", "e2m1", "nf4"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_weights_are_packed_and_multiplied(library, kind, dtype):
    for m, n, k, group in ((1, 256, 512, 128), (16, 200, 384, 64), (70, 97, 130, None)):
        zeros_there = kind == "u4"
        groups = 1 if group is None else k // group
        codes = {"s4": lambda: torch.randint(-8, 8, (n, k), dtype=torch.int8, device="cuda"), "u4": lambda: torch.randint(0, 16, (n, k), dtype=torch.uint8, device="cuda"),
                 "s8": lambda: torch.randint(-128, 128, (n, k), dtype=torch.int8, device="cuda"),
                 "e4m3": lambda: torch.randn(n, k, device="cuda").to(torch.float8_e4m3fn)}.get(
                     kind, lambda: torch.randint(0, 16, (n, k), dtype=torch.uint8, device="cuda"))()
        scales = (torch.rand(groups, n, device="cuda") / 64).to(dtype)
        zeros = torch.randint(0, 16, (groups, n), device="cuda").to(dtype) if zeros_there else None
        w = tilesmith.weights.pack(codes, scales, zeros, type=kind, library=library)
        dense = CODEBOOKS[kind].cuda().to(dtype).float()[codes.long()] if kind in CODEBOOKS else codes.float()
        if zeros_there:
            dense = dense - zeros.float().repeat_interleave(k // groups, 0).T
        dense = dense * scales.float().repeat_interleave(k // groups, 0).T
        assert torch.equal(tilesmith.torch.dequantized(w.codes, w.scales, w.zeros, w.text, k, dtype), dense)
        x, bias = random(m, k, dtype=dtype), random(n, dtype=dtype)
        close(tilesmith.weights.linear(x, w, bias=bias, library=library), x, dense.T, lambda y: y + bias.double())


@pytest.mark.parametrize("kind", ["s4", "u4", "e2m1"])
@pytest.mark.parametrize("of_a, dtype", [("e4m3", torch.float16), ("e4m3", torch.bfloat16), ("e4m3", torch.float32), ("s8", torch.float16), ("s8", torch.bfloat16)])
def test_weights_are_packed_for_8_bits_and_multiplied(library, kind, of_a, dtype):
    for m, n, k, group in ((1, 256, 512, 128), (16, 200, 384, 64), (70, 97, 96, 32), (130, 256, 1024, None)):
        groups, low = 1 if group is None else k // group, -8 if kind == "s4" else 0
        codes = torch.randint(low, low + 16, (n, k), dtype=torch.int8 if kind == "s4" else torch.uint8, device="cuda")
        zeros = None if kind == "e2m1" else torch.randint(low, low + 16, (groups, n), device="cuda").float()
        over = lambda part: part.float().repeat_interleave(k // groups, 0).T
        for scale_type in {dtype, torch.float32}:
            scales = (torch.rand(groups, n, device="cuda") / 64).to(scale_type)
            w = tilesmith.weights.pack(codes, scales, zeros, type=kind, dtype=of_a, library=library)
            dense = CODEBOOKS[kind].cuda()[codes.long()] if kind == "e2m1" else codes.float() - over(zeros)
            dense = dense * over(scales)
            assert torch.equal(tilesmith.torch.dequantized(w.codes, w.scales, w.zeros, w.text, k, activations=of_a), dense)
            q, rows = tilesmith.quantise(random(m, k), of_a)
            x, bias = q.double() * rows.double()[:, None], random(n, dtype=dtype)
            got = tilesmith.gemm(q, w, scale_m=rows, bias=bias, out_dtype=dtype, library=library)
            assert got.dtype == dtype
            close(got, x, dense.T, lambda y: y + bias.double())
            close(tilesmith.weights.linear(q, w, torch.empty_like(got), scale_m=rows, library=library), x, dense.T)
    with pytest.raises(ValueError, match="for which the weights are packed"):
        tilesmith.gemm(random(m, k), w, library=library)
    if zeros is not None:
        with pytest.raises(tilesmith.Error, match=r"zeros\[0\]\[0\] is 0.5: expected whole numbers"):
            tilesmith.weights.pack(codes, scales, zeros * 0 + 0.5, type=kind, dtype="e4m3", library=library)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("of_a", ["e4m3", "s8"])
def test_layers_round_their_rows_to_8_bits(library, dtype, of_a):
    tilesmith.set_default(library)
    try:
        model = torch.nn.Sequential(torch.nn.Linear(256, 384), torch.nn.ReLU(), torch.nn.Linear(384, 256, bias=False)).cuda().to(dtype)
        tilesmith.torch.quantize_(model, "u4_g64+zeros+f32", activations=of_a)
        model.to(dtype)
        assert model[0].scales.dtype == torch.float32
        x = random(5, 256, dtype=dtype)
        model.cpu()
        want = model(x.cpu()).cuda()
        model.cuda()
        with tilesmith.torch.enabled(library) as serving, torch.no_grad():
            got = model(x)
        assert float((got.double() - want.double()).norm() / want.double().norm()) < 0.03  # a row's last bit may round to another element
        assert serving.stats()["served"]["linear_weights"] == 2
        name = {"e4m3": "e4m3f32", "s8": "s8s32"}[of_a] + ("f16" if dtype == torch.float16 else "bf16")
        assert {f"{name} NT 5 256 384 epilogue=scale_m weights=u4_g64+zeros+f32", f"{name} NT 5 384 256 epilogue=scale_m+bias_n weights=u4_g64+zeros+f32"} <= {
            str(problem) for problem in serving.problems()}
        graph = torch.cuda.CUDAGraph()
        with torch.no_grad(), torch.cuda.graph(graph):
            captured = model[0](x)
        graph.replay()
        with torch.no_grad():
            assert torch.equal(captured, model[0](x))
        torch.library.opcheck(torch.ops.tilesmith.linear_weights.default,
                              (x, model[0].codes_a8, model[0].scales, model[0].zeros, model[0].kind, 256, None, None, of_a), test_utils=("test_schema", "test_faketensor"))
    finally:
        tilesmith.set_default(None)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_experts_multiply_their_rows_also_in_a_graph(library, dtype):
    tilesmith.set_default(library)
    try:
        experts, n, k, m = 6, 256, 512, 40
        dense = random(experts, n, k, dtype=dtype) / 32
        layer = tilesmith.torch.ExpertsLinear.from_dense(dense, "s4_g128")
        x, ends = random(m, k, dtype=dtype), torch.tensor([3, 3, 20, 20, 39, 40], dtype=torch.int32, device="cuda")

        def check(got):
            begin = 0
            for expert, end in enumerate(ends.tolist()):
                if end > begin:
                    w = tilesmith.torch.dequantized(layer.codes[expert], layer.scales[expert], None, layer.kind, k)
                    close(got[begin:end], x[begin:end], w.T)
                begin = end

        check(layer(x, ends))
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out = layer(x, ends)
        ends.copy_(torch.tensor([0, 10, 10, 30, 31, 40], dtype=torch.int32))
        graph.replay()
        check(out)
    finally:
        tilesmith.set_default(None)


def test_arrays_of_cupy_are_weights(library):
    cupy = pytest.importorskip("cupy")
    codes = cupy.random.randint(0, 16, (200, 256)).astype(cupy.uint8)
    scales = (cupy.random.random_sample((2, 200)) / 64).astype(cupy.float16)
    zeros = cupy.random.randint(0, 16, (2, 200)).astype(cupy.float16)
    w = tilesmith.weights.pack(codes, scales, zeros, type="u4", library=library)
    assert isinstance(w.codes, cupy.ndarray)
    x = cupy.random.standard_normal((5, 256), dtype=cupy.float32).astype(cupy.float16)
    y = tilesmith.weights.linear(x, w, library=library)
    dense = (codes.astype(cupy.float64) - zeros.astype(cupy.float64).repeat(128, 0).T) * scales.astype(cupy.float64).repeat(128, 0).T
    want = x.astype(cupy.float64) @ dense.T
    assert isinstance(y, cupy.ndarray) and float(abs(y - want).max()) <= 2**-9 * float(abs(want).max())


def test_arrays_of_other_libraries_are_weights(library):
    class Interface:
        def __init__(self, tensor):
            self.__cuda_array_interface__ = tensor.__cuda_array_interface__

    n, k = 200, 256
    codes, scales = torch.randint(-8, 8, (n, k), dtype=torch.int8, device="cuda"), (torch.rand(2, n, device="cuda") / 64).half()
    size, shape = tilesmith.weights.sizes(n, k, "s4", 128)
    made = torch.zeros(size, dtype=torch.uint8, device="cuda"), torch.zeros(shape, dtype=torch.float16, device="cuda")
    x, out = random(5, k), random(5, n)
    torch.cuda.synchronize()
    w = tilesmith.weights.pack(Interface(codes), Interface(scales), type="s4", out=tuple(map(Interface, made)), library=library)
    tilesmith.weights.linear(Interface(x), w, Interface(out), library=library)
    torch.cuda.synchronize()
    dense = codes.float() * scales.float().repeat_interleave(128, 0).T
    assert torch.equal(tilesmith.torch.dequantized(*made, None, w.text, k), dense)
    close(out, x, dense.T)


def test_a_linear_layer_with_weights_is_an_operator(library):
    tilesmith.set_default(library)
    try:
        qweight = torch.randint(-2**31, 2**31 - 1, (512, 64), dtype=torch.int32, device="cuda")
        qzeros = torch.randint(-2**31, 2**31 - 1, (4, 64), dtype=torch.int32, device="cuda")
        w = tilesmith.weights.from_awq(qweight, qzeros, (torch.rand(4, 512, device="cuda") / 64).half())
        assert w.text == "u4_g128+zeros"
        layer = tilesmith.torch.Linear(w, bias=random(512), activation="silu")
        x = random(2, 3, 512)
        dense = tilesmith.torch.dequantized(w.codes, w.scales, w.zeros, w.text, 512)
        want = torch.nn.functional.silu(x.double() @ dense.double().T + layer.bias.double())
        assert float((layer(x).double() - want).abs().max()) <= 2**-9 * float(want.abs().max())
        assert float((layer.cpu()(x.cpu()).double().cuda() - want).abs().max()) <= 2**-9 * float(want.abs().max())
        layer = layer.cuda()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            captured = layer(x)
        graph.replay()
        assert torch.equal(captured, layer(x))
        torch.library.opcheck(torch.ops.tilesmith.linear_weights.default, (x, layer.codes, layer.scales, layer.zeros, layer.kind, 512, layer.bias, layer.activation),
                              test_utils=("test_schema", "test_faketensor"))
        order = torch.arange(512, device="cuda", dtype=torch.int32) // 128
        order[5] = 3
        with pytest.raises(tilesmith.Error, match=r"g_idx\[5\] is 3: expected 0"):
            tilesmith.weights.from_gptq(torch.randint(-2**31, 2**31 - 1, (64, 512), dtype=torch.int32, device="cuda"), None, torch.rand(4, 512, device="cuda").half(), order)
    finally:
        tilesmith.set_default(None)


def test_a_model_is_rounded_and_its_products_counted(library):
    tilesmith.set_default(library)
    try:
        model = torch.nn.Sequential(torch.nn.Linear(256, 384), torch.nn.ReLU(), torch.nn.Linear(384, 256, bias=False)).cuda().half()
        assert tilesmith.torch.quantize_(model, "s4_g128") == ["0", "2"]
        x = random(5, 256)
        want = x.double()
        for layer in (model[0], model[2]):
            want = want @ tilesmith.torch.dequantized(layer.codes, layer.scales, layer.zeros, layer.kind, layer.in_features).double().T
            want = torch.relu(want + layer.bias.double()) if layer.bias is not None else want
        with tilesmith.torch.enabled(library) as serving, torch.no_grad():
            got = model(x)
        assert float((got.double() - want).norm() / want.norm()) < 2e-3
        assert serving.stats()["served"] == {"linear_weights": 2}
        assert sorted(map(str, serving.problems())) == [f"f16f32f16 NT 5 {n} {k} {more}weights=s4_g128"
                                                       for n, k, more in ((256, 384, ""), (384, 256, "epilogue=bias_n "))]
    finally:
        tilesmith.set_default(None)
