"""tilesmith.quantise: 8-bit elements and their scales, by PyTorch's operators on the CPU."""

import pytest

torch = pytest.importorskip("torch")

import tilesmith

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("type, highest", [("e4m3", 448), ("s8", 127)])
@pytest.mark.parametrize("m, k, block", [(5, 300, None), (5, 300, 128), (1, 128, 128), (3, 7, 128), (0, 300, 128), (4, 0, 128), (4, 0, None), (3, 1, None)])
def test_elements_times_scales_are_the_matrix(dtype, type, highest, m, k, block):
    torch.manual_seed(0)
    x = (torch.randn(k, m).t() * 10).to(dtype)
    q, scales = tilesmith.quantise(x, type, block)
    assert q.dtype == (torch.float8_e4m3fn if type == "e4m3" else torch.int8) and q.shape == (m, k) and q.is_contiguous() and scales.dtype == torch.float32
    if block is None:
        assert scales.shape == (m,)
        each = scales[:, None].expand(m, k)
    else:
        assert scales.shape == (m, -(-k // 128)) and scales.t().is_contiguous()
        each = scales.repeat_interleave(128, 1)[:, :k]
    if k == 0:
        assert block or bool((scales == 1).all())
        return
    for row in range(m):
        for first in range(0, k, block or k):
            part = x[row, first:first + (block or k)].float()
            torch.testing.assert_close(each[row, first], part.abs().max() / highest, rtol=1e-6, atol=0)
            assert q[row, first:first + (block or k)].float().abs().max() == highest
    off = (q.float() * each - x.float()).abs()
    assert (off <= (each * 0.5001 if type == "s8" else torch.maximum(x.float().abs() * 2**-4 * 1.0001, each * 2**-10 * 1.0001))).all()


def test_ties_go_to_even():
    q, scales = tilesmith.quantise(torch.tensor([[127, 0.5, 1.5, 2.5, -0.5, -1.5]]), "s8")
    assert scales.tolist() == [1] and q.tolist() == [[127, 0, 2, 2, 0, -2]]
    q, scales = tilesmith.quantise(torch.tensor([[448, 17, 19, 21, -17, 2**-10, 3 * 2**-10]]), "e4m3")  # 16, 18, 20 and 22 are elements, and multiples of 2^-9
    assert scales.tolist() == [1] and q.float().tolist() == [[448, 16, 20, 20, -16, 0, 2**-8]]


@pytest.mark.parametrize("type", ["e4m3", "s8"])
@pytest.mark.parametrize("block", [None, 128])
def test_zeros_have_the_scale_1_and_tiny_numbers_stay_in_range(type, block):
    x = torch.zeros(3, 200)
    x[1, 150] = 1e-44  # its scale is not even a subnormal
    x[2, :3] = torch.tensor([1e-40, -3e-41, 0])
    q, scales = tilesmith.quantise(x, type, block)
    assert (scales > 0).all() and (scales[0] == 1).all() and (q[:2].float() == 0).all() and q[2].float().abs().max() <= (448 if type == "e4m3" else 127)
    assert torch.isfinite(q.float()).all() and q[2].float()[0] > 0


def test_what_is_no_number_stays_in_its_row_or_block():
    x = torch.ones(4, 256)
    x[0, 3], x[1, 3], x[2, 3] = NAN, INF, -INF
    for block in (None, 128):
        q, scales = tilesmith.quantise(x, "e4m3", block)
        each = scales[:, None].expand(4, 256) if block is None else scales.repeat_interleave(128, 1)
        got = q.float() * each
        assert got[0].isnan().nonzero().tolist() == [[3]]
        assert got[1:3, : block or 256].isnan().all() and (block is None or (got[:3, 128:] == 1).all()) and (got[3] == 1).all()
        q, scales = tilesmith.quantise(x, "s8", block)
        got = q.float() * (scales[:, None].expand(4, 256) if block is None else scales.repeat_interleave(128, 1))
        assert got[:3, : block or 256].isnan().all() and (block is None or (got[:3, 128:] == 1).all()) and (got[3] == 1).all()
    q, scales = tilesmith.quantise(torch.full((1, 4), NAN), "e4m3")
    assert q.float().isnan().all() and scales.tolist() == [1]


def test_wrong_inputs_are_told():
    x = torch.ones(2, 128)
    for wrong, words in (((x, "f16"), "^type is 'f16'; expected 'e4m3' or 's8'$"), ((x, "e4m3", 64), "^block is 64; expected None or 128$"),
                         ((x[0], "e4m3"), "^x is 128 of torch.float32; expected m x k of float16, bfloat16 or float32$"),
                         ((x.double(), "s8"), "^x is 2x128 of torch.float64; expected m x k")):
        with pytest.raises(ValueError, match=words):
            tilesmith.quantise(*wrong)
    with pytest.raises(TypeError, match="^x is a builtins.list; expected a tensor of PyTorch$"):
        tilesmith.quantise([[1.0]], "e4m3")


def test_it_has_no_gradient_and_leaves_x_as_it_is():
    x = torch.randn(3, 130, requires_grad=True)
    before = x.detach().clone()
    q, scales = tilesmith.quantise(x, "e4m3", block=128)
    assert not q.requires_grad and not scales.requires_grad and torch.equal(x, before)
