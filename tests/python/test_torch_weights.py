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


@pytest.mark.parametrize("shape", [(1, 120), (3, 136), (2, 3, 64), (128, 127), (0, 1), (), (127,)])
def test_another_width_is_an_error_as_of_a_dense_layer(shape):
    from torch._subclasses.fake_tensor import FakeTensorMode

    packed = weights.pack(torch.ones(16, 128, dtype=torch.int8), torch.ones(16).half(), type="s4")
    layer, x = tilesmith.torch.Linear(packed), torch.ones(shape).half()
    for call in (lambda: layer(x), lambda: tilesmith.torch.linear(x, packed), lambda: layer.to("meta")(x.to("meta"))):
        with pytest.raises(RuntimeError, match="expected 128 columns, the layer's in_features"):
            call()
    with FakeTensorMode(allow_non_fake_inputs=True) as mode, pytest.raises(RuntimeError, match="expected 128 columns"):
        layer(mode.from_tensor(x))
    assert tilesmith.torch.Linear(packed)(torch.ones(128).half()).shape == (16,)


def test_a_bias_of_another_width_is_an_error():
    packed = weights.pack(torch.ones(16, 128, dtype=torch.int8), torch.ones(16).half(), type="s4")
    for bias in (torch.ones(1), torch.ones(15), torch.ones(16, 1), torch.ones(128)):
        for device in ("cpu", "meta"):
            with pytest.raises(RuntimeError, match=r"bias is \[.*\]; expected \[16\], the layer's out_features"):
                tilesmith.torch.Linear(packed, bias.half()).to(device)(torch.ones(1, 128).half().to(device))


def test_rows_that_are_one_are_multiplied_as_many(stand_in, monkeypatch):
    from tilesmith import _arrays
    from tilesmith.torch import _linear

    monkeypatch.setattr(_arrays, "HOST_DEVICES_ALLOWED", True)
    packed = weights.Weights("s4", 16, 128, 0, "f16", torch.zeros(1024, dtype=torch.uint8), torch.ones(1, 16).half(), None)
    for x in (torch.ones(128).half().expand(5, 128), torch.ones(128, 5).half().T, torch.ones(5, 256).half()[:, ::2]):
        assert _linear._by_kernels(x, packed.codes, packed.scales, None, packed.text, 128).shape == (5, 16)
        assert (stand_in.problem.m, stand_in.problem.k, stand_in.problem.lda) == (5, 128, 128)
    with pytest.raises(RuntimeError, match="expected 128 columns"):
        _linear._by_kernels(torch.ones(5, 120).half(), packed.codes, packed.scales, None, packed.text, 128)


def test_codes_out_of_range_are_refused():
    for codes, type in ((torch.full((16, 64), 9, dtype=torch.int8), "s4"), (torch.full((16, 64), 16, dtype=torch.uint8), "u4")):
        with pytest.raises(ValueError, match="codes of .8 go from (9 to 9|16 to 16); expected"):
            weights.pack(codes, torch.ones(16).half(), type=type)


def test_types_of_the_same_bits_are_taken_and_others_told():
    blocks, scales = torch.randint(0, 256, (16, 32), dtype=torch.uint8), torch.randint(120, 130, (16, 2), dtype=torch.uint8)
    same = weights.from_mxfp4(blocks, scales)
    assert torch.equal(weights.from_mxfp4(blocks.view(torch.int8), scales).codes, same.codes)
    if hasattr(torch, "float8_e8m0fnu"):
        assert torch.equal(weights.from_mxfp4(blocks, scales.view(torch.float8_e8m0fnu)).scales, same.scales)
        with pytest.raises(TypeError, match="^scales is of torch.float8_e8m0fnu; expected f16 or bf16 or f32$"):
            weights.pack(blocks, scales.view(torch.float8_e8m0fnu), type="u4", k=64)
    words, ones = torch.zeros(8, 64, dtype=torch.int32), torch.ones(1, 64).half()
    assert torch.equal(weights.from_gptq(words.view(torch.uint32), None, ones).codes, weights.from_gptq(words, None, ones).codes)
    with pytest.raises(TypeError, match="^qweight is of torch.bool; expected s32$"):
        weights.from_gptq(words.bool(), None, ones)
    with pytest.raises(ValueError, match="^qweight is of s64; expected s32$"):
        weights.from_gptq(words.long(), None, ones)
    with pytest.raises(ValueError, match="^qweight is of f32; expected s32$"):
        weights.from_gptq(words.float(), None, ones)
    with pytest.raises(ValueError, match="^qweight is on the device meta; expected .cpu. or .cuda.$"):
        weights.from_gptq(words.to("meta"), None, ones)
    assert weights.pack(torch.ones(16, 64, dtype=torch.int8), torch.ones(16), type="s4", dtype=torch.bfloat16).scale_type == "bf16"


def test_what_is_made_does_not_go_into_a_copy():
    codes = torch.zeros(16, 64, dtype=torch.int8)
    to = torch.zeros(1024, dtype=torch.uint8)[::2], torch.ones(1, 16)
    with pytest.raises(ValueError, match="codes to make is not packed"):
        weights.pack(codes, torch.ones(16), type="s4", out=to)


@pytest.mark.parametrize("to", [lambda layer: layer.half(), lambda layer: layer.to(torch.bfloat16), lambda layer: layer.to("cpu", torch.float16)])
def test_scales_that_the_kind_says_are_f32_stay_so(to):
    dense = torch.nn.Linear(128, 48).bfloat16()
    for kind in ("s4_g64+f32", "u4_g64+zeros+f32"):
        layer = tilesmith.torch.Linear.from_linear(dense, kind)
        scales = layer.scales.clone()
        moved = to(layer)
        assert moved is layer and layer.scales.dtype == torch.float32 and torch.equal(layer.scales, scales)
        assert layer.zeros is None or layer.zeros.dtype == torch.float32
        x = torch.randn(2, 128).to(layer.bias.dtype)
        assert layer.bias.dtype in (torch.float16, torch.bfloat16) and layer(x).dtype == x.dtype
        assert layer.to("meta").scales.is_meta
    assert to(tilesmith.torch.Linear.from_linear(dense, "s4_g64")).scales.dtype != torch.float32
    experts = to(tilesmith.torch.ExpertsLinear.from_dense(torch.randn(2, 16, 64).bfloat16(), "u4_g32+zeros+f32"))
    assert experts.scales.dtype == experts.zeros.dtype == torch.float32


def test_the_text_of_weights_follows_the_scales_that_are_there():
    codes, scales = torch.zeros(512, dtype=torch.uint8), torch.ones(2, 16)
    assert weights.Weights.of_tensors("s4_g32+f32", 16, 64, codes, scales.half(), None).text == "s4_g32"
    assert weights.Weights.of_tensors("s4_g32", 16, 64, codes, scales, None).text == "s4_g32+f32"
