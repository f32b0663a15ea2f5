"""8-bit floats with scales of blocks in tilesmith.torch, without a GPU: what enabled() serves."""

import pytest

torch = pytest.importorskip("torch")

import tilesmith.torch
from test_torch import enabled
from torch_host import host, same  # noqa: F401


def fp8_operands(m, n, k):
    """e4m3 matrices, scales of blocks of 1x128 and 128x128 of both, and what each pair of them stands for."""
    a, b = torch.randn(m, k).to(torch.float8_e4m3fn), torch.randn(n, k).to(torch.float8_e4m3fn)
    rows, columns = torch.rand(m, -(-k // 128)) + 0.5, torch.rand(n, -(-k // 128)) + 0.5
    blocks_a, blocks_b = torch.rand(-(-m // 128), -(-k // 128)) + 0.5, torch.rand(-(-n // 128), -(-k // 128)) + 0.5

    def dense(x, scales, height):
        return x.double() * scales.repeat_interleave(height, 0)[: x.shape[0]].repeat_interleave(128, 1)[:, :k]

    def wanted(of_a, of_b):
        return (dense(a, rows if of_a == 1 else blocks_a, of_a) @ dense(b, columns if of_b == 1 else blocks_b, of_b).t()).float()

    return a, b.t(), rows.t().contiguous().t(), columns.t().contiguous().t(), blocks_a, blocks_b, wanted


@pytest.mark.parametrize("m, n, k", [(3, 144, 520), (130, 16, 2048), (1, 16, 2048), (5, 144, 64), (1, 16, 96)])
def test_scales_of_blocks_as_the_older_operator_has_them(host, m, n, k):
    a, b, rows, columns, blocks_a, blocks_b, wanted = fp8_operands(m, n, k)
    for scale_a, scale_b, of_a, of_b in ((rows, blocks_b.t(), 1, 128), (rows, columns.t(), 1, 1), (blocks_a, columns.t(), 128, 1)):
        with enabled() as serving:
            got = torch._scaled_mm(a, b, scale_a, scale_b, out_dtype=torch.float32)
        assert serving.stats() == {"served": {"_scaled_mm": 1}, "forwarded": {}}
        same(got, wanted(of_a, of_b))


def test_scales_of_blocks_that_lie_otherwise_go_to_pytorch(host):
    from tilesmith.torch import _aten

    a, b, rows, _, _, blocks_b, _ = fp8_operands(256, 256, 512)
    serving = tilesmith.torch.Serving()
    padded = torch.zeros(2, 8)[:, :4].copy_(blocks_b)
    for scale_a, scale_b in ((rows.contiguous(), blocks_b.t()), (rows, blocks_b.t().contiguous()), (rows, padded.t()), (rows[:, :3], blocks_b.t()),
                             (rows, torch.ones(())), (rows, blocks_b)):
        assert _aten.scaled_mm(serving, a, b, scale_a, scale_b, out_dtype=torch.float32) is None
    reason, = serving.stats()["forwarded"]["_scaled_mm"]
    assert reason == "its scales are neither one for all, nor one for each row and column, nor packed ones of blocks of 128"


V2 = pytest.mark.skipif(not hasattr(torch.ops.aten, "_scaled_mm_v2"), reason="an older PyTorch")
RECIPES = {"one": 0, "each": 1, "1x128": 4, "128x128": 5}


def v2(a, b, scale_a, recipe_a, scale_b, recipe_b, swizzle=(), dims=(), bias=None, **more):
    return torch.ops.aten._scaled_mm_v2(a, b, [scale_a], [RECIPES[recipe_a]], swizzle, [scale_b], [RECIPES[recipe_b]], swizzle, bias, torch.float32, dims,
                                        **more)


@V2
def test_the_numbers_of_recipes_are_pytorchs():
    from tilesmith.torch import _aten

    for number, name in _aten._RECIPES.items():
        assert getattr(torch.nn.functional.ScalingType, name).value == number
    assert torch.nn.functional.SwizzleType.NO_SWIZZLE.value == 0


@V2
@pytest.mark.parametrize("m, n, k", [(3, 144, 512), (130, 16, 2048), (1, 16, 2048), (5, 272, 64)])
def test_recipes_of_the_newer_operator_are_served(host, m, n, k):
    a, b, rows, columns, blocks_a, blocks_b, wanted = fp8_operands(m, n, k)
    one, each_a, each_b, plain = torch.rand(1), torch.rand(m, 1), torch.rand(1, n), (a.double() @ b.double()).float()
    calls = [(rows, "1x128", blocks_b.t(), "128x128", wanted(1, 128)), (rows, "1x128", columns, "1x128", wanted(1, 1)),
             (blocks_a.t(), "128x128", columns, "1x128", wanted(128, 1)), (one, "one", one, "one", plain * one * one),
             (each_a, "each", each_b, "each", plain * each_a * each_b)]
    for *given, want in calls:
        for swizzle, dims in (((), ()), ((0,), (1, 0)), ((0,), (-1, -2))):
            with enabled() as serving:
                got = v2(a, b, *given, swizzle, dims)
            assert serving.stats() == {"served": {"_scaled_mm_v2": 1}, "forwarded": {}}
            same(got, want)
    with enabled() as serving:
        out = torch.empty(m, n)
        assert v2(a, b, one, "one", one, "one", out=out) is out
        half = torch.nn.functional.scaled_mm(a, b, rows, torch.nn.functional.ScalingType.BlockWise1x128, blocks_b.t(),
                                             torch.nn.functional.ScalingType.BlockWise128x128, bias=torch.ones(n).bfloat16())
    assert serving.stats()["served"] == {"_scaled_mm_v2": 2} and half.dtype == torch.bfloat16
    same(out, plain * one * one)
    same(half, (wanted(1, 128) + 1).bfloat16())


@V2
def test_rows_of_blocks_that_pytorch_pads_are_served_if_there_is_one(host):
    from tilesmith.torch import _aten

    serving = tilesmith.torch.Serving()
    for n, served in ((128, True), (144, False)):
        a, b, rows, _, _, blocks_b, wanted = fp8_operands(3, n, 640)  # 5 blocks of K, padded to 8
        padded = torch.full((blocks_b.shape[0], 8), float("nan"))
        padded[:, :5] = blocks_b
        for scale_b in (padded.t(), padded[:, :5].t()):  # as PyTorch 2.15 and as 2.10 has it
            got = _aten.scaled_mm_v2(serving, a, b, [rows], [4], [], [scale_b], [5], [], None, torch.float32)
            assert (got is not None) == served
            if served:
                same(got, wanted(1, 128))
        same(_aten.scaled_mm_v2(serving, a, b, [rows], [4], [], [blocks_b.t()], [5], [], None, torch.float32), wanted(1, 128))
    assert sorted(serving.stats()["forwarded"]["_scaled_mm_v2"]) == [
        f"scale_b is [{blocks}, 2] with strides [1, 8], a layout that our kernels do not read" for blocks in (5, 8)]


@V2
def test_what_of_the_newer_operator_goes_to_pytorch(host):
    from tilesmith.torch import _aten

    serving = tilesmith.torch.Serving()
    a, b, rows, columns, blocks_a, blocks_b, _ = fp8_operands(256, 256, 512)
    one, each = torch.ones(1), torch.ones(256, 1)

    def forwarded(reason, scale_a, recipe_a, scale_b, recipe_b, swizzle=(), dims=(), levels=1):
        serving.reset()
        given = [[scale] * levels for scale in (scale_a, scale_b)]
        recipes = [recipe_a] * levels, [recipe_b] * levels
        assert _aten.scaled_mm_v2(serving, a, b, given[0], recipes[0], swizzle, given[1], recipes[1], swizzle, None, torch.float32, dims) is None
        assert list(serving.stats()["forwarded"]["_scaled_mm_v2"]) == [reason]

    forwarded("its scales are swizzled", one, 0, one, 0, swizzle=(1,))
    forwarded("it does not contract the columns of a with the rows of b", one, 0, one, 0, dims=(0, 1))
    forwarded("it is not a product of two matrices that have one scales array each", one, 0, one, 0, levels=2)
    forwarded("there are no kernels for the recipes 3 and 3", one, 3, one, 3)
    forwarded("there are no kernels for the recipes RowWise and TensorWise", each, 1, one, 0)
    forwarded("there are no kernels for the recipes BlockWise128x128 and BlockWise128x128", blocks_a.t(), 5, blocks_b.t(), 5)
    forwarded("scale_a is [256] with strides [1], a layout that our kernels do not read", torch.ones(256), 1, torch.ones(1, 256), 1)
    forwarded("scale_a is [256, 4] with strides [4, 1], a layout that our kernels do not read", rows.contiguous(), 4, blocks_b.t(), 5)
    forwarded("scale_b is [2, 4] with strides [4, 1], a layout that our kernels do not read", rows, 4, blocks_b, 5)
    forwarded("scale_b is [4, 256] with strides [256, 1], a layout that our kernels do not read", rows, 4, columns.t(), 4)
    forwarded("scale_m is u8; expected f32", torch.ones(256, 4, dtype=torch.uint8).t().contiguous().t(), 4, blocks_b.t(), 5)
