"""tilesmith.torch.Linear in host memory: repacked by the real library, computed by PyTorch."""

import pytest

torch = pytest.importorskip("torch")

import tilesmith.torch
from tilesmith import weights

pytestmark = pytest.mark.usefixtures("real")


@pytest.mark.parametrize("kind, low, high, stored", [("s4", -8, 8, torch.int8), ("u4", 0, 16, torch.uint8), ("s8", -128, 128, torch.int8)])
@pytest.mark.parametrize("n, k, groups", [(33, 70, 1), (48, 128, 4)])
def test_what_is_packed_is_what_is_multiplied(kind, low, high, stored, n, k, groups):
    codes = torch.randint(low, high, (n, k)).to(stored)
    scales = torch.rand(groups, n).half()
    zeros = torch.randint(0, 8, (groups, n)).half() if kind == "u4" else None
    packed = weights.pack(codes, scales, zeros, type=kind)
    dense = codes.float() - (0 if zeros is None else zeros.float().repeat_interleave(k // groups, 0).T)
    dense = dense * scales.float().repeat_interleave(k // groups, 0).T
    assert torch.equal(tilesmith.torch.dequantized(packed.codes, packed.scales, packed.zeros, packed.text, k), dense)
    layer = tilesmith.torch.Linear(packed, torch.rand(n).half(), "relu")
    x = torch.rand(2, 3, k).half()
    assert torch.equal(layer(x), torch.relu(x.float() @ dense.T + layer.bias.float()).half())
    assert layer.to("meta")(x.to("meta")).shape == (2, 3, n)


def test_e4m3_is_kept_bit_by_bit():
    codes = torch.randn(20, 40).to(torch.float8_e4m3fn)
    packed = weights.pack(codes, torch.ones(20), type="e4m3")
    assert packed.text == "e4m3_column+f32"
    assert torch.equal(tilesmith.torch.dequantized(packed.codes, packed.scales, None, packed.text, 40), codes.float())


@pytest.mark.parametrize("kind, values", [("e2m1", [0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6]),
                                          ("nf4", [-1, -0.6961928, -0.52507305, -0.39491749, -0.28444138, -0.18477343, -0.091050036, 0,
                                                   0.0795803, 0.1609302, 0.2461123, 0.33791524, 0.44070983, 0.562617, 0.72295684, 1])])
def test_codebooks_are_looked_up_in_the_type_of_x(kind, values):
    codes, scales = torch.randint(0, 16, (33, 128), dtype=torch.uint8), torch.rand(4, 33).bfloat16()
    packed = weights.pack(codes, scales, type=kind)
    assert packed.text == f"{kind}_g32"
    dense = torch.tensor(values).bfloat16().float()[codes.long()] * scales.float().repeat_interleave(32, 0).T
    assert torch.equal(tilesmith.torch.dequantized(packed.codes, packed.scales, None, packed.text, 128, torch.bfloat16), dense)
    x = torch.rand(5, 128).bfloat16()
    assert torch.equal(tilesmith.torch.Linear(packed)(x), (x.float() @ dense.T).bfloat16())


def test_a_state_dict_has_the_packed_weights():
    packed = weights.pack(torch.randint(0, 16, (16, 64), dtype=torch.uint8), torch.rand(16).half(), torch.ones(16).half(), type="u4")
    layer = tilesmith.torch.Linear(packed)
    assert sorted(layer.state_dict()) == ["codes", "scales", "zeros"]
    assert repr(layer) == "Linear(in_features=64, out_features=16, weights=u4_column+zeros, bias=False)"
    with pytest.raises(ValueError, match="activation is 'tanh'; expected None"):
        tilesmith.torch.Linear(packed, activation="tanh")
