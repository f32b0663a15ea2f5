"""tilesmith.torch.ExpertsLinear in host memory: repacked by the real library, computed by PyTorch."""

import pytest

torch = pytest.importorskip("torch")

import tilesmith.torch
from tilesmith import weights

pytestmark = pytest.mark.usefixtures("real")


def test_each_expert_multiplies_its_rows():
    experts, n, k = 4, 32, 64
    codes, scales = torch.randint(-8, 8, (experts, n, k), dtype=torch.int8), torch.rand(experts, 2, n).half()
    packed = weights.pack(codes, scales, type="s4")
    assert packed.experts == experts and packed.text == "s4_g32"
    layer = tilesmith.torch.ExpertsLinear(packed, torch.rand(n).half(), "swiglu")
    x, ends = torch.randn(11, k).half(), torch.tensor([3, 3, 9, 10], dtype=torch.int32)
    out = layer(x, ends)
    assert out.shape == (11, n // 2)
    begin = 0
    for expert, end in enumerate(ends.tolist()):
        dense = codes[expert].float() * scales[expert].float().repeat_interleave(k // 2, 0).T
        sums = x[begin:end].float() @ dense.T + layer.bias.float()
        assert torch.allclose(out[begin:end].float(), torch.nn.functional.silu(sums[:, : n // 2]) * sums[:, n // 2 :], rtol=2e-3, atol=2e-2)
        begin = end
    assert torch.equal(out[10:], torch.zeros(1, n // 2).half())
    alone = tilesmith.torch.linear_experts(x, ends, packed, layer.bias, "swiglu")
    assert torch.equal(alone, out)


def test_dense_experts_are_rounded_as_each_alone():
    dense = torch.randn(3, 16, 128).bfloat16()
    layer = tilesmith.torch.ExpertsLinear.from_dense(dense, "u4_g64+zeros")
    for expert in range(3):
        one = tilesmith.torch.quantize(dense[expert], "u4_g64+zeros")
        assert torch.equal(layer.codes[expert], one.codes) and torch.equal(layer.scales[expert], one.scales) and torch.equal(layer.zeros[expert], one.zeros)
    assert repr(layer) == "ExpertsLinear(experts=3, in_features=128, out_features=16, weights=u4_g64+zeros, bias=False)"
    assert sorted(layer.state_dict()) == ["codes", "scales", "zeros"]
    assert layer.to("meta")(torch.empty(5, 128, device="meta", dtype=torch.bfloat16), torch.empty(3, device="meta", dtype=torch.int32)).shape == (5, 16)


def test_experts_of_mxfp4_are_those_of_each_alone():
    blocks, scales = torch.randint(0, 256, (3, 16, 32), dtype=torch.uint8), torch.randint(120, 130, (3, 16, 2), dtype=torch.uint8)
    packed = weights.from_mxfp4(blocks, scales)
    assert packed.experts == 3 and packed.n == 16 and packed.k == 64
    for expert in range(3):
        one = weights.from_mxfp4(blocks[expert], scales[expert])
        assert torch.equal(packed.codes[expert], one.codes) and torch.equal(packed.scales[expert], one.scales)
    x, ends = torch.randn(4, 64).bfloat16(), torch.tensor([1, 1, 4], dtype=torch.int32)
    w = tilesmith.torch.dequantized(packed.codes[2], packed.scales[2], None, packed.text, 64)
    assert torch.equal(tilesmith.torch.linear_experts(x, ends, packed)[1:], (x[1:].float() @ w.T).bfloat16())


def test_what_is_no_expert_is_one_line():
    dense = torch.randn(3, 16, 128).half()
    with pytest.raises(ValueError, match="weight has 2 dimensions; expected 3"):
        tilesmith.torch.ExpertsLinear.from_dense(dense[0])
    with pytest.raises(ValueError, match="weights are one matrix; expected those of experts"):
        tilesmith.torch.ExpertsLinear(tilesmith.torch.quantize(dense[0]))
    with pytest.raises(ValueError, match="activation is 'tanh'; expected None"):
        tilesmith.torch.ExpertsLinear.from_dense(dense, activation="tanh")
    layer = tilesmith.torch.ExpertsLinear.from_dense(dense)
    with pytest.raises(RuntimeError, match=r"offsets is \[2\] of torch.int32; expected 3 of int32"):
        layer(torch.randn(4, 128).half(), torch.tensor([1, 2], dtype=torch.int32))
    with pytest.raises(RuntimeError, match="x has 3 dimensions; expected 2"):
        layer(torch.randn(1, 4, 128).half(), torch.tensor([1, 2, 4], dtype=torch.int32))


def test_another_width_is_an_error():
    layer = tilesmith.torch.ExpertsLinear.from_dense(torch.randn(3, 16, 128).half())
    ends = torch.tensor([1, 2, 4], dtype=torch.int32)
    for width in (120, 64, 256):
        for device in ("cpu", "meta"):
            with pytest.raises(RuntimeError, match=rf"x is \[4, {width}\]; expected 128 columns, the layer's in_features"):
                layer.to(device)(torch.ones(4, width, device=device).half(), ends.to(device))
            layer = tilesmith.torch.ExpertsLinear.from_dense(torch.randn(3, 16, 128).half())
    with pytest.raises(RuntimeError, match=r"bias is \[128\]; expected \[16\]"):
        tilesmith.torch.ExpertsLinear.from_dense(torch.randn(3, 16, 128).half(), bias=torch.ones(128).half())(torch.ones(4, 128).half(), ends)
