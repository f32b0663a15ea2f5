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
    torch.library.opcheck(torch.ops.tilesmith.linear_fp8.default, (x, weight, scales, layer.bias), test_utils=("test_schema", "test_faketensor"))
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
