"""8-bit floats with scales of blocks on a Hopper GPU, beside PyTorch. Run as test_gpu.py is."""

import pytest

torch = pytest.importorskip("torch")

import tilesmith
import tilesmith.torch

HOPPER = torch.cuda.is_available() and torch.cuda.get_device_capability() == (9, 0)
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not HOPPER, reason="PyTorch has scales of blocks on Hopper alone")]
ALL_LEVELS = ("exact", "trial", "model", "generic")


def packed(rows, k):
    """e4m3, and scales of 1x128 and of 128x128."""
    elements = torch.randn(rows, k, device="cuda").to(torch.float8_e4m3fn)
    return elements, torch.rand(k // 128, rows, device="cuda").t() + 0.5, torch.rand(-(-rows // 128), k // 128, device="cuda") + 0.5


def calls():
    (a, rows, blocks_a), (b, columns, blocks_b) = packed(256, 1024), packed(384, 1024)
    b, one, half = b.t(), torch.full((), 0.5, device="cuda"), torch.bfloat16
    each_a, each_b = torch.rand(256, 1, device="cuda"), torch.rand(1, 384, device="cuda")
    listed = {
        "1x128 and 128x128": lambda: torch._scaled_mm(a, b, rows, blocks_b.t(), out_dtype=half),
        "1x128 of both": lambda: torch._scaled_mm(a, b, rows, columns.t(), out_dtype=half),
        "128x128 and 1x128": lambda: torch._scaled_mm(a, b, blocks_a, columns.t(), out_dtype=half),
    }
    if hasattr(torch.nn.functional, "scaled_mm"):
        of = torch.nn.functional.ScalingType

        def newer(*scales, **more):
            return lambda: torch.nn.functional.scaled_mm(a, b, *scales, **more)

        listed.update({
            "newer, one": newer(one, of.TensorWise, one, of.TensorWise), "newer, each": newer(each_a, of.RowWise, each_b, of.RowWise),
            "newer, 1x128 and 128x128": newer(rows, of.BlockWise1x128, blocks_b.t(), of.BlockWise128x128),
            "newer, 1x128 of both": newer(rows, of.BlockWise1x128, columns, of.BlockWise1x128),
            "newer, 128x128 and 1x128": newer(blocks_a.t(), of.BlockWise128x128, columns, of.BlockWise1x128),
            "newer, with a bias": newer(rows, of.BlockWise1x128, blocks_b.t(), of.BlockWise128x128, bias=torch.randn(384, device="cuda").bfloat16()),
        })
    return listed


@pytest.mark.parametrize("name", list(calls()) if HOPPER else [])
def test_scaled_products_of_pytorch_are_served(name):
    torch.manual_seed(0)
    call = calls()[name]
    try:
        want = call()
    except (RuntimeError, ValueError, NotImplementedError) as why:
        pytest.skip(f"PyTorch does not compute it here: {why}")
    with tilesmith.torch.enabled(levels=ALL_LEVELS) as serving:
        got = call()
        torch.cuda.synchronize()
    assert sum(serving.stats()["served"].values()) == 1 and not serving.stats()["forwarded"], serving.stats()
    assert got.dtype == want.dtype and got.stride() == want.stride()
    torch.testing.assert_close(got, want, rtol=2e-2, atol=2e-2 * float(want.float().abs().max()))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("m, n, k", [(1, 512, 1024), (64, 300, 200), (300, 1000, 1536)])
def test_a_layer_in_8_bit_floats_and_its_graph(dtype, m, n, k):
    torch.manual_seed(0)
    weight, scales = torch.randn(n, k, device="cuda").to(torch.float8_e4m3fn), torch.rand(-(-n // 128), -(-k // 128), device="cuda") * 0.1
    layer, x = tilesmith.torch.Fp8Linear(weight, scales, torch.randn(n, device="cuda").to(dtype)), torch.randn(m, k, device="cuda").to(dtype)
    q, of_rows = tilesmith.quantise(x, "e4m3", block=128)
    want = tilesmith.torch._fp8._by_pytorch(x, weight, scales, layer.bias)
    got = layer(x)
    torch.testing.assert_close(got, want, rtol=2e-2, atol=1e-2 * float(want.float().abs().max()))
    by_gemm = tilesmith.gemm(q, weight.t(), scale_m=of_rows, scale_n=scales, bias=layer.bias, out_dtype=dtype)
    torch.testing.assert_close(by_gemm, got, rtol=1e-2, atol=1e-2 * float(want.float().abs().max()))
    # opcheck's "test_schema" multiplies its arguments, which PyTorch cannot do with 8-bit floats. What it would show: nothing given is written, or returned.
    given, bits = (x, weight, scales, layer.bias), lambda of: of.clone().view(torch.uint8)
    before = [bits(of) for of in given]
    made = torch.ops.tilesmith.linear_fp8(*given)
    assert all(torch.equal(bits(of), was) for of, was in zip(given, before))
    assert made.untyped_storage().data_ptr() not in [of.untyped_storage().data_ptr() for of in given]
    torch.library.opcheck(torch.ops.tilesmith.linear_fp8.default, given, test_utils="test_faketensor")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = layer(x)
    x.mul_(-2)
    graph.replay()
    torch.cuda.synchronize()
    torch.testing.assert_close(captured, layer(x))


def test_quantising_on_a_device_is_as_in_host_memory():
    torch.manual_seed(0)
    x = torch.randn(33, 1000).bfloat16()
    x[3], x[4, 5] = 0, float("nan")
    for type, block in (("e4m3", 128), ("e4m3", None), ("s8", None)):
        for one, other in zip(tilesmith.quantise(x.cuda(), type, block), tilesmith.quantise(x, type, block)):
            torch.testing.assert_close(one.cpu().float(), other.float(), rtol=0, atol=0, equal_nan=True)


def awkward(m, k, dtype):
    """Rows of all magnitudes, some with what is no usual number, and with many elements that are between two codes."""
    x = torch.randn(m, k, device="cuda") * 10.0 ** torch.linspace(-46, 37, max(m, 2), device="cuda")[:m, None]
    if m > 8:
        x[1], x[2], x[3] = 0, -0.0, torch.arange(k, device="cuda") % 255 / 2 - 63.25
        x[3, 0], x[4], x[5, 0] = 127, torch.randint(-448 * 16, 448 * 16, (k,), device="cuda") / 16, float("nan")
        x[4, -1], x[6, k // 2], x[7, -1] = 448, float("inf"), -float("inf")
        x[8] = torch.where(torch.rand(k, device="cuda") < 0.5, -0.0, 1e-45)
    return x.to(dtype)


def assert_the_same(got, want):
    """Bit for bit; a NaN may have another sign."""
    for one, other in zip(got, want):
        assert one.dtype == other.dtype and one.shape == other.shape and one.is_contiguous() == other.is_contiguous()
        nan, other_nan = one.float().isnan(), other.float().isnan()
        bits = [of.contiguous().view(torch.int32 if of.dtype == torch.float32 else torch.uint8) for of in (one, other)]
        assert torch.equal(nan, other_nan) and torch.equal(bits[0][~nan], bits[1][~nan])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("type, block", [("e4m3", None), ("e4m3", 128), ("s8", None), ("s8", 128)])
def test_the_kernel_that_quantises_equals_pytorchs_operators(dtype, type, block):
    torch.manual_seed(0)
    for m, k in ((1, 1), (9, 7), (33, 8), (20, 77), (300, 128), (33, 130), (257, 1000), (16, 4096), (40, 4097), (9, 16384), (3, 70001), (2, 131072), (70000, 136), (3, 2561), (3, 18432)):
        x = awkward(m, k, dtype)
        got = tilesmith._quantise.by_kernel(torch, x, type, block, False)
        assert got is not None
        assert_the_same(got, tilesmith._quantise.by_tensors(torch, x, type, block, False))
        assert_the_same(tilesmith._quantise.by_kernel(torch, x, type, block, True), tilesmith._quantise.by_tensors(torch, x, type, block, True))
    wide = awkward(40, 1024, dtype)
    for x in (wide[3:20, 64:264], wide[:, 1:300], wide.t(), wide[::2], wide[:, ::2], wide[5:6].expand(4, 1024), wide[:, :1], wide[:1, 8:]):
        assert_the_same(tilesmith.quantise(x, type, block), tilesmith._quantise.by_tensors(torch, x, type, block, False))


@pytest.mark.parametrize("dtype, bits", [(torch.bfloat16, 7), (torch.float16, 10)])
@pytest.mark.parametrize("type", ["e4m3", "s8"])
def test_every_number_of_16_bits_is_rounded_right_beside_every_largest_magnitude(dtype, bits, type):
    """Of fractions all pairs, and all exponents that leave more than zero."""
    fractions = torch.arange(2**bits, 2**(bits + 1), device="cuda").double()
    numbers = (fractions * 2.0 ** -torch.arange(20, device="cuda").double()[:, None]).flatten()
    for largest in fractions.split(128):
        x = torch.cat((largest[:, None], numbers.expand(len(largest), -1).minimum(largest[:, None])), 1).to(dtype)
        assert_the_same(tilesmith._quantise.by_kernel(torch, x, type, None, False), tilesmith._quantise.by_tensors(torch, x, type, None, False))


def test_quantising_in_a_graph_and_in_a_compiled_function():
    torch.manual_seed(0)
    x, new = awkward(64, 1032, torch.bfloat16), awkward(64, 1040, torch.bfloat16)  # `new` has no plan before the capture
    tilesmith.quantise(x, "e4m3", 128)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured, unplanned = tilesmith.quantise(x, "e4m3", 128), tilesmith.quantise(new, "s8")
    x.copy_(x.flip(0)), new.copy_(new.flip(0))
    graph.replay()
    assert_the_same(captured, tilesmith.quantise(x, "e4m3", 128))
    assert_the_same(unplanned, tilesmith.quantise(new, "s8"))
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        on_side = tilesmith.quantise(x, "e4m3")
    side.synchronize()
    assert_the_same(on_side, tilesmith.quantise(x, "e4m3"))
    y = torch.randn(33, 300, device="cuda").bfloat16()
    compiled = torch.compile(lambda x: tilesmith.quantise(x, "s8"), fullgraph=True)(y)
    q, scales = tilesmith.quantise(y, "s8")
    torch.testing.assert_close(compiled[1], scales, rtol=1e-6, atol=0)
    assert int((compiled[0].int() - q.int()).abs().max()) <= 1
