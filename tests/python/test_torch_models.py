"""Models whose layers are rounded to 4 or 8 bits. In host memory, repacked by the real library."""

import copy

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


class Tied(torch.nn.Module):
    """An embedding that is the head, two layers of one weight and one bias, a block and a buffer in two places."""

    def __init__(self):
        super().__init__()
        self.embed, self.lm_head = torch.nn.Embedding(33, 64), torch.nn.Linear(64, 33, bias=False)
        self.lm_head.weight = self.embed.weight
        self.up, self.again = torch.nn.Linear(64, 64), torch.nn.Linear(64, 64)
        self.again.weight, self.again.bias = self.up.weight, self.up.bias
        self.alone = torch.nn.Linear(64, 64)
        self.alone.weight = self.up.weight
        self.first = self.second = Block()
        self.register_buffer("mask", torch.arange(5))
        self.inner = torch.nn.Module()
        self.inner.register_buffer("mask", self.mask)
        self.inner.register_buffer("seen", self.mask, persistent=False)

    def check(self):
        assert self.lm_head.weight is self.embed.weight and type(self.lm_head) is torch.nn.Linear
        assert type(self.up) is type(self.again) is type(self.alone) is tilesmith.torch.Linear and self.up is not self.again
        assert self.up.codes is self.again.codes is self.alone.codes and self.up.scales is self.again.scales is self.alone.scales
        assert self.up.bias is self.again.bias and self.alone.bias is not self.up.bias
        assert self.first is self.second and type(self.first.up) is tilesmith.torch.Linear
        assert self.mask is self.inner.mask is self.inner.seen


def test_what_was_one_is_one_after_rounding():
    model = Tied().half()
    with pytest.warns(UserWarning, match="^layer 'lm_head' is not rounded: its weight is also that of 'embed', which stays as it is$"):
        names = tilesmith.torch.quantize_(model, "s4_g32", skip=())
    assert sorted(names) == ["again", "alone", "first.down", "first.up", "second.down", "second.up", "up"]
    model.check()
    x = torch.randn(2, 64).half()
    assert not model.up(x).requires_grad and torch.equal(model.up(x), model.again(x)) and not torch.equal(model.up(x), model.alone(x))
    skipped = Tied().half()
    with pytest.warns(UserWarning, match="layer '(up|alone)' is not rounded: its weight is also that of 'again'"):
        assert sorted(tilesmith.torch.quantize_(skipped, "s4_g32", skip=("again", "lm_head"))) == ["first.down", "first.up", "second.down", "second.up"]
    assert skipped.up.weight is skipped.again.weight is skipped.alone.weight
    model = Model().half()
    model.head = model.lm_head  # one of its names is to be skipped
    assert tilesmith.torch.quantize_(model, "s8_g32") == NAMES and model.head is model.lm_head and type(model.head) is torch.nn.Linear


@pytest.mark.parametrize("kind", ["s4_g32", "u4_g32+zeros", "s8_column", "e4m3_g32", "e2m1_g32", "nf4_g64"])
@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), -float("inf")])
def test_numbers_that_are_none_are_refused_by_the_layers_name(kind, wrong):
    model = Model().bfloat16()
    with torch.no_grad():
        model.layers[1].up.weight[3, 5] = wrong
    with pytest.raises(ValueError, match="^layer 'layers.1.up' has NaN or infinities; expected finite numbers$"):
        tilesmith.torch.quantize_(model, kind, skip=("down", "lm_head"))
    assert type(model.layers[0].up) is torch.nn.Linear  # nothing was changed
    assert len(tilesmith.torch.quantize_(model, "s8_g32", skip=("layers.1.up",))) == 4
    with pytest.raises(ValueError, match="^weight has NaN or infinities; expected finite numbers$"):
        tilesmith.torch.quantize(model.layers[1].up.weight, kind)


def test_the_largest_numbers_are_rounded():
    for dtype in (torch.float16, torch.bfloat16):
        weight = torch.tensor([-torch.finfo(dtype).max, torch.finfo(dtype).max] * 16, dtype=dtype).reshape(1, 32)
        for kind in ("s4_g32", "u4_g32+zeros", "e4m3_g32", "e2m1_g32", "nf4_g32"):
            packed = tilesmith.torch.quantize(weight, kind)
            assert torch.isfinite(packed.scales).all() and (packed.zeros is None or torch.isfinite(packed.zeros).all())


def test_a_layer_alone_or_without_numbers_is_told():
    with pytest.raises(ValueError, match="^model is a Linear itself; expected a module that has some"):
        tilesmith.torch.quantize_(torch.nn.Linear(32, 32).half(), "s4_g32")
    with torch.device("meta"):
        model = Model().half()
    with pytest.raises(ValueError, match="^layer 'layers.0.up' is on the device meta; expected one that has numbers$"):
        tilesmith.torch.quantize_(model, "s4_g32")


def test_a_model_that_cannot_be_rounded_is_not_changed():
    model = Model().half()
    with pytest.raises(ValueError, match="layer 'layers.0.down' is 64x96 of torch.float16; expected float16 or bfloat16 and a multiple of 64 columns, or its name"):
        tilesmith.torch.quantize_(model, "s4_g64")
    assert type(model.layers[0].up) is torch.nn.Linear
    assert tilesmith.torch.quantize_(model, "s4_g64", skip=("down", "lm_head")) == ["layers.0.up", "layers.1.up"]
