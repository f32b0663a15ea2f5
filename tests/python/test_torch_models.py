"""Models whose layers have weights in 4 or 8 bits: rounded, or loaded from checkpoints. In host memory, repacked by the real library."""

import copy
import json

import pytest

torch = pytest.importorskip("torch")

import tilesmith.torch
from tilesmith import weights

pytestmark = pytest.mark.usefixtures("real")


def dense_of(packed):
    return tilesmith.torch.dequantized(packed.codes, packed.scales, packed.zeros, packed.text, packed.k)


@pytest.mark.parametrize("dtype, slack", [(torch.float16, 2**-9), (torch.bfloat16, 2**-6)])
@pytest.mark.parametrize("kind, group, levels", [("s4_g32", 32, 15), ("s4_g128+f32", 128, 15), ("s8_column", 256, 255), ("u4_g64+zeros", 64, 15)])
def test_rounding_is_off_by_half_a_scale_at_most(kind, group, levels, dtype, slack):
    torch.manual_seed(1)
    weight = torch.randn(48, 256, dtype=dtype)
    weight[3] = weight[3].abs() + 1  # a range that has no 0
    packed = tilesmith.torch.quantize(weight, kind)
    assert packed.text == kind and (packed.n, packed.k) == (48, 256)
    groups = weight.float().reshape(48, -1, group)
    span = groups.amax(-1).clamp(min=0) - groups.amin(-1).clamp(max=0) if "zeros" in kind else 2 * groups.abs().amax(-1)
    off = (dense_of(packed) - weight.float()).abs().reshape(48, -1, group).amax(-1)
    # A zero is rounded, too, and shifts the range by half a scale.
    allowed = span / levels * ((1.0 if "zeros" in kind else 0.5) + levels * slack)
    assert (off <= allowed).all()
    assert (off > span / levels * 0.2).any()


def test_rounding_to_e4m3_keeps_three_bits():
    torch.manual_seed(2)
    weight = torch.randn(16, 128, dtype=torch.bfloat16)
    off = (dense_of(tilesmith.torch.quantize(weight, "e4m3_g64+f32")) - weight.float()).abs()
    assert (off <= weight.float().abs() * 2**-4 + weight.abs().max() * 2**-9 / 448).all()


@pytest.mark.parametrize("kind, largest, widest", [("e2m1_g32+f32", 6, 2), ("nf4_g64+f32", 1, 1 - 0.6961928)])
def test_rounding_to_a_table_takes_the_nearest(kind, largest, widest):
    torch.manual_seed(5)
    weight = torch.randn(16, 128, dtype=torch.bfloat16)
    packed = tilesmith.torch.quantize(weight, kind)
    assert packed.text == kind
    dense = dense_of(packed)
    groups = weight.float().reshape(16, packed.scales.shape[0], -1)
    scale = groups.abs().amax(-1, keepdim=True) / largest
    off = (dense.reshape(groups.shape) - groups).abs()
    assert (off <= scale * (widest / 2 + 1e-5)).all()
    # No other value that the group has is nearer.
    others = dense.reshape(groups.shape)
    nearest = (others.unsqueeze(-2) - groups.unsqueeze(-1)).abs().amin(-1)
    assert (off <= nearest + scale * 1e-5).all()
    assert (dense[weight == 0] == 0).all() and dense.unique().numel() > 16


@pytest.mark.parametrize("kind", ["s4_g32", "s8_column", "u4_g32+zeros", "e4m3_g32", "e2m1_g32", "nf4_g64"])
def test_zeros_stay_zeros(kind):
    weight = torch.zeros(16, 64, dtype=torch.float16)
    weight[0] = 1
    dense = dense_of(tilesmith.torch.quantize(weight, kind))
    assert torch.isfinite(dense).all()
    assert (dense[1:] == 0).all()


def test_what_cannot_be_rounded_is_told():
    weight = torch.zeros(16, 96, dtype=torch.float16)
    with pytest.raises(ValueError, match="weight has 96 columns; expected a multiple of 64, the group of 's4_g64'"):
        tilesmith.torch.quantize(weight, "s4_g64")
    with pytest.raises(ValueError, match="kind is 's4'; expected s4, u4, s8, e4m3, e2m1 or nf4, then _g32"):
        tilesmith.torch.quantize(weight, "s4")
    with pytest.raises(ValueError, match="expected .zeros of u4"):
        tilesmith.torch.quantize(weight, "u4_g32")
    with pytest.raises(ValueError, match="weight is 16x96 of torch.float32; expected n x k of float16 or bfloat16"):
        tilesmith.torch.quantize(weight.float(), "s4_g32")


class Block(torch.nn.Module):
    def __init__(self, hidden=64, inner=96):
        super().__init__()
        self.norm = torch.nn.LayerNorm(hidden)
        self.up, self.down = torch.nn.Linear(hidden, inner), torch.nn.Linear(inner, hidden, bias=False)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(self.norm(x))))


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([Block(), Block()])
        self.lm_head = torch.nn.Linear(64, 33, bias=False)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.lm_head(x)


NAMES = ["layers.0.up", "layers.0.down", "layers.1.up", "layers.1.down"]


def test_a_model_is_rounded_layer_by_layer_but_for_its_head():
    torch.manual_seed(3)
    model = Model().half()
    rounded = copy.deepcopy(model)
    assert tilesmith.torch.quantize_(rounded, "s8_g32") == NAMES
    assert type(rounded.lm_head) is torch.nn.Linear
    assert repr(rounded.layers[0].up) == "Linear(in_features=64, out_features=96, weights=s8_g32, bias=True)"
    for name in NAMES:
        model.get_submodule(name).weight.data = dense_of(tilesmith.torch.quantize(model.get_submodule(name).weight, "s8_g32")).half()
    x = torch.randn(5, 64).half()
    expected = model.float()(x.float())
    assert ((rounded(x).float() - expected).norm() / expected.norm()) < 2e-3
    assert tilesmith.torch.quantize_(rounded, "s8_g32", skip=()) == ["lm_head"]


def test_a_layer_of_two_names_stays_one():
    model = Model().half()
    model.layers[1].up = model.layers[0].up
    assert tilesmith.torch.quantize_(model, "s4_g32") == ["layers.0.up", "layers.1.up", "layers.0.down", "layers.1.down"]
    assert model.layers[1].up is model.layers[0].up
    tied = torch.nn.Module()
    tied.a = tied.b = torch.nn.Linear(32, 32).half()
    tilesmith.torch.quantize_(tied, "s4_g32")
    assert type(tied.a) is tilesmith.torch.Linear and tied.b is tied.a


def test_a_model_that_cannot_be_rounded_is_not_changed():
    model = Model().half()
    with pytest.raises(ValueError, match="layer 'layers.0.down' is 64x96 of torch.float16; expected float16 or bfloat16 and a multiple of 64 columns, or its name"):
        tilesmith.torch.quantize_(model, "s4_g64")
    assert type(model.layers[0].up) is torch.nn.Linear
    assert tilesmith.torch.quantize_(model, "s4_g64", skip=("down", "lm_head")) == ["layers.0.up", "layers.1.up"]


def words(codes, order=range(8)):
    """Eight codes of 4 bits along the last dimension as int32."""
    codes = codes.reshape(*codes.shape[:-1], -1, 8).to(torch.int64)
    word = sum(codes[..., of] << 4 * place for place, of in enumerate(order))
    return torch.where(word >= 2**31, word - 2**32, word).to(torch.int32)


def checkpoint(method, v2=False):
    """Of Model: what a checkpoint has, and the dense weights that it stands for."""
    torch.manual_seed(4)
    state, dense = {}, {}
    for name, (n, k) in zip(NAMES, [(96, 64), (64, 96), (96, 64), (64, 96)]):
        groups = k // 32
        codes, zeros = torch.randint(0, 16, (k, n)), torch.randint(1, 16, (groups, n))
        scales = (torch.rand(groups, n) * 0.02 + 0.01).half()
        dense[name] = ((codes - zeros.repeat_interleave(32, 0)) * scales.float().repeat_interleave(32, 0)).T
        if method == "gptq":
            state[name + ".qweight"] = words(codes.T).T.contiguous()
            state[name + ".qzeros"] = words(zeros - (0 if v2 else 1))
            state[name + ".g_idx"] = torch.arange(k, dtype=torch.int32) // 32
        else:
            awq = (0, 2, 4, 6, 1, 3, 5, 7)
            state[name + ".qweight"], state[name + ".qzeros"] = words(codes, awq), words(zeros, awq)
        state[name + ".scales"] = scales
        if name.endswith("up"):
            state[name + ".bias"] = torch.randn(n).half()
    for block in ("layers.0", "layers.1"):
        state[block + ".norm.weight"], state[block + ".norm.bias"] = torch.rand(64).half(), torch.rand(64).half()
    state["lm_head.weight"] = torch.randn(33, 64).half()
    return state, dense


@pytest.mark.parametrize("method, v2", [("gptq", False), ("gptq", True), ("awq", False)])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_checkpoint_is_loaded_file_by_file_into_a_model_of_no_memory(method, v2, dtype):
    state, dense = checkpoint(method, v2)
    with torch.device("meta"):
        model = Model().to(dtype)
    first = {key: tensor for key, tensor in state.items() if key.startswith("layers.0")}
    rest = {key: tensor for key, tensor in state.items() if key not in first}
    assert tilesmith.torch.load_quantized_(model, first, method, v2=v2) == NAMES[:2]
    assert tilesmith.torch.load_quantized_(model, rest, method, v2=v2) == NAMES[2:]
    assert {tensor.dtype for key, tensor in model.state_dict().items() if not key.endswith(".codes")} == {dtype}
    plain = Model()
    for name in NAMES:
        scales = state[name + ".scales"].to(dtype).float() / state[name + ".scales"].float()
        plain.get_submodule(name).weight.data = dense[name] * scales.repeat_interleave(32, 0).T
        if name.endswith("up"):
            plain.get_submodule(name).bias.data = state[name + ".bias"].to(dtype).float()
    for name in ("layers.0.norm.weight", "layers.0.norm.bias", "layers.1.norm.weight", "layers.1.norm.bias", "lm_head.weight"):
        plain.get_parameter(name).data = state[name].to(dtype).float()
    x = torch.randn(3, 64).to(dtype)
    expected = plain(x.float())
    assert ((model(x).float() - expected).norm() / expected.norm()) < (3e-3 if dtype == torch.float16 else 3e-2)


NF4 = torch.tensor([-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334,
                    -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
                    0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0])


@pytest.mark.parametrize("nested", [False, True])
def test_a_checkpoint_of_bitsandbytes_is_loaded_its_scales_quantised_or_not(nested):
    torch.manual_seed(6)
    state, dense = {}, {}
    for name, (n, k) in (("layers.0.up", (96, 64)), ("layers.0.down", (64, 96))):
        codes, blocks = torch.randint(0, 16, (n * k,), dtype=torch.uint8), n * k // 32
        told = {"quant_type": "nf4", "blocksize": 32, "dtype": "bfloat16", "shape": [n, k]}
        absmax = torch.rand(blocks) * 0.02 + 0.01
        if nested:
            told.update(nested_blocksize=128, nested_dtype="float32", nested_offset=0.015)
            table, places, outer = torch.linspace(-1, 1, 256), torch.randint(0, 256, (blocks,), dtype=torch.uint8), torch.rand(-(-blocks // 128)) * 0.01
            absmax = torch.tensor([float(table[places[i].item()] * outer[i // 128]) + 0.015 for i in range(blocks)])
            state.update({f"{name}.weight.nested_absmax": outer, f"{name}.weight.nested_quant_map": table})
        state[f"{name}.weight.absmax"] = places if nested else absmax
        state[f"{name}.weight"] = (codes[::2] << 4 | codes[1::2]).reshape(-1, 1)  # the lower column in the upper bits
        state[f"{name}.weight.quant_map"] = NF4
        state[f"{name}.weight.quant_state.bitsandbytes__nf4"] = torch.tensor(list(json.dumps(told).encode()), dtype=torch.uint8)
        dense[name] = (NF4[codes.long()].reshape(blocks, 32) * absmax.unsqueeze(-1)).reshape(n, k)
    state["layers.0.up.bias"] = torch.randn(96).bfloat16()
    model = Model().bfloat16()
    assert tilesmith.torch.load_quantized_(model, state, "bnb", dtype="f32") == ["layers.0.up", "layers.0.down"]
    for name, want in dense.items():
        layer = model.get_submodule(name)
        got = tilesmith.torch.dequantized(layer.codes, layer.scales, None, layer.kind, layer.in_features)
        assert layer.kind == "nf4_g32+f32" and (got - want).abs().max() <= want.abs().max() * 1e-6
    assert model.layers[0].up(torch.randn(2, 64).bfloat16()).shape == (2, 96)
    broken = {**state, "layers.0.up.weight.quant_state.bitsandbytes__nf4": torch.tensor(list(b'{"shape": [96'), dtype=torch.uint8)}
    with pytest.raises(ValueError, match="layer 'layers.0.up': weight.quant_state.bitsandbytes__nf4 cannot be read; expected JSON with a shape of two"):
        tilesmith.torch.load_quantized_(Model().bfloat16(), broken, "bnb")
    del state["layers.0.up.weight.absmax"]
    with pytest.raises(ValueError, match="layer 'layers.0.up' of the checkpoint has no weight.absmax; expected it beside its weight.quant_state"):
        tilesmith.torch.load_quantized_(Model().bfloat16(), state, "bnb")


def test_what_a_checkpoint_lacks_or_has_too_much_is_told():
    state, _ = checkpoint("gptq")

    def refused(why, method="gptq", model=None, **changes):
        given = {**state, **{key.replace("__", "."): tensor for key, tensor in changes.items()}}
        model = model or Model().half()
        with pytest.raises((ValueError, tilesmith.Error), match=why):
            tilesmith.torch.load_quantized_(model, {key: tensor for key, tensor in given.items() if tensor is not None}, method)
        assert type(model.layers[0].up) is torch.nn.Linear  # nothing was changed

    refused("method is 'gguf'; expected 'gptq', 'awq', 'bnb'", method="gguf")
    refused("layer 'layers.0.up' of the checkpoint has no scales; expected it beside its qweight", **{"layers.0.up.scales": None})
    refused("the checkpoint has a layer 'layers.9.up'; expected one that the model has", **{"layers.9.up.qweight": state["layers.0.up.qweight"]})
    refused("layer 'layers.0.norm' of the model is LayerNorm; expected Linear", **{"layers.0.norm.qweight": state["layers.0.up.qweight"]})
    refused("the checkpoint has a tensor 'rotary.inv_freq', of 1 such; expected those that the model has", **{"rotary.inv_freq": torch.ones(3)})
    refused("layer 'layers.0.up' of the model is of torch.float32; expected float16 or bfloat16", model=Model())
    refused("layer 'layers.0.up': .*act-order", **{"layers.0.up.g_idx": state["layers.0.up.g_idx"].flip(0)})
    refused(r"'lm_head.weight' of the checkpoint is \[33, 63\]; expected \[33, 64\], as in the model", **{"lm_head.weight": torch.zeros(33, 63)})
    refused("the checkpoint has a tensor 'layers.1.up.weight', of 1 such", **{"layers.1.up.weight": torch.zeros(96, 64)})
    other = Model().half()
    other.layers[0].up = torch.nn.Linear(64, 80).half()
    refused("layer 'layers.0.up' of the checkpoint is 96x64; expected 80x64, as in the model", model=other)
