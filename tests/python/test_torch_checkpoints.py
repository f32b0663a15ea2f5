"""Checkpoints of GPTQ, AWQ and bitsandbytes, loaded into models. In host memory, repacked by the real library."""

import json
import random

import pytest

torch = pytest.importorskip("torch")

import tilesmith.torch
from test_torch_models import NAMES, Model, Tied

pytestmark = pytest.mark.usefixtures("real")


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


def bitsandbytes(nested, layers=((NAMES[0], 96, 64), (NAMES[1], 64, 96), (NAMES[2], 96, 64), (NAMES[3], 64, 96)), dense=None):
    """Of Model: what a checkpoint has. dense: gets the weights that it stands for."""
    torch.manual_seed(6)
    state = {}
    for name, n, k in layers:
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
        if dense is not None:
            dense[name] = (NF4[codes.long()].reshape(blocks, 32) * absmax.unsqueeze(-1)).reshape(n, k)
        if name.endswith("up"):
            state[f"{name}.bias"] = torch.randn(n).half()
    if len(layers) == 4:
        for block in ("layers.0", "layers.1"):
            state[block + ".norm.weight"], state[block + ".norm.bias"] = torch.rand(64).half(), torch.rand(64).half()
        state["lm_head.weight"] = torch.randn(33, 64).half()
    return state


@pytest.mark.parametrize("nested", [False, True])
def test_a_checkpoint_of_bitsandbytes_is_loaded_its_scales_quantised_or_not(nested):
    dense = {}
    state = bitsandbytes(nested, (("layers.0.up", 96, 64), ("layers.0.down", 64, 96)), dense)
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

    refused("method is 'exl2'; expected 'gptq', 'awq', 'bnb', 'fp8', 'gguf'", method="exl2")
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


def everything(model):
    return {**dict(model.named_parameters(remove_duplicate=False)), **dict(model.named_buffers(remove_duplicate=False))}


@pytest.mark.parametrize("method", ["gptq", "awq", "bnb", "nested"])
@pytest.mark.parametrize("order", ["sorted", "reversed", "shuffled"])
def test_files_may_cut_through_layers_at_every_tensor(method, order):
    state = bitsandbytes(method == "nested") if method in ("bnb", "nested") else checkpoint(method)[0]
    keys = sorted(state, reverse=order == "reversed")
    if order == "shuffled":
        random.Random(3).shuffle(keys)
    method = "bnb" if method == "nested" else method

    def loaded(files):
        with torch.device("meta"):
            model = Model().half()
        assert sorted(tilesmith.torch.load_quantized_(model, files, method)) == sorted(NAMES)
        return everything(model)

    whole = loaded([state])
    for files in ([[keys[:cut], keys[cut:]] for cut in range(len(keys) + 1)], [[[key] for key in keys]]):
        for cut in files:
            found = loaded({key: state[key] for key in part} for part in cut)
            assert found.keys() == whole.keys() and all(torch.equal(found[key], whole[key]) for key in whole)


@pytest.mark.parametrize("method", ["gptq", "awq", "bnb", "nested"])
def test_what_no_file_has_is_named_and_nothing_is_changed(method):
    state = bitsandbytes(method == "nested") if method in ("bnb", "nested") else checkpoint(method)[0]
    method = "bnb" if method == "nested" else method
    optional = [key for key in state if key.endswith((".g_idx", ".quant_map", "up.bias"))]
    for gone in state:
        rest = {key: tensor for key, tensor in state.items() if key != gone}
        model = Model().half()
        before = everything(model)
        if gone in optional:
            tilesmith.torch.load_quantized_(model, [rest], method)
            if gone.endswith("bias"):  # the model's own stays, for it has numbers
                assert torch.equal(everything(model)[gone], before[gone])
                with torch.device("meta"):
                    model = Model().half()
                with pytest.raises(ValueError, match=f"^no file of the checkpoint has '{gone}', the first of 1 such"):
                    tilesmith.torch.load_quantized_(model, [rest], method)
            continue
        layer, part = next(((name, gone[len(name) + 1:]) for name in NAMES if gone.startswith(name + ".")), (None, None))
        words = f"layer '{layer}'.* no {part}; expected it" if layer else f"^no file of the checkpoint has '{gone}', the first of 1 such; expected all"
        with pytest.raises(ValueError, match=words):
            tilesmith.torch.load_quantized_(model, iter([rest]), method)
        after = everything(model)
        assert after.keys() == before.keys() and all(after[key] is before[key] for key in before)


def test_one_mapping_may_lack_layers_and_a_bias_may_come_before_or_behind():
    state, _ = checkpoint("gptq")
    own = {key: state[key] for key in state if key.startswith("layers.0.up.")}
    for parts in ([{"layers.0.up.bias"}, set(own)], [set(own) - {"layers.0.up.bias"}, {"layers.0.up.bias"}]):
        model, seen = Model().half(), set()
        for part in parts:
            tilesmith.torch.load_quantized_(model, {key: own[key] for key in part - seen}, "gptq")
            seen |= part
        assert type(model.layers[0].up) is tilesmith.torch.Linear and torch.equal(model.layers[0].up.bias, own["layers.0.up.bias"])
    with pytest.raises(ValueError, match="layer 'layers.0.up' of the model is packed already; expected one that is not"):
        tilesmith.torch.load_quantized_(model, own, "gptq")
    without = Model().half()
    without.layers[0].up = torch.nn.Linear(64, 96, bias=False).half()  # the file has one
    tilesmith.torch.load_quantized_(without, own, "gptq")
    assert torch.equal(without.layers[0].up.bias, own["layers.0.up.bias"])
    for wrong in (own["layers.0.up.bias"][:95], own["layers.0.up.bias"].reshape(1, 96)):
        for model in (Model().half(), without):
            with pytest.raises(ValueError, match=r"layers.0.up.* (of the checkpoint is \[|packed already)"):
                tilesmith.torch.load_quantized_(model, {**own, "layers.0.up.bias": wrong}, "gptq")


def test_what_is_no_checkpoint_is_told():
    state, _ = checkpoint("gptq")
    for given, words in (("model.safetensors", "state is or has a str; expected a mapping"), ([state, [1]], "state is or has a list; expected a mapping"), (5, "has a int"),
                         ({**state, "lm_head.weight": [1.0]}, "'lm_head.weight' of the checkpoint is a list; expected a tensor"),
                         ({**state, "layers.0.up.qweight": None}, "'layers.0.up.qweight' of the checkpoint is a NoneType; expected a tensor")):
        with pytest.raises(TypeError, match=words):
            tilesmith.torch.load_quantized_(Model().half(), given, "gptq")
    with pytest.raises(ValueError, match="'lm_head.weight' is in two files of the checkpoint; expected it in one"):
        tilesmith.torch.load_quantized_(Model().half(), [state, {"lm_head.weight": state["lm_head.weight"]}], "gptq")
    with pytest.raises(ValueError, match="^layer 'layers.0.up': bits is '4'; expected a whole number$"):
        tilesmith.torch.load_quantized_(Model().half(), state, "gptq", bits="4")


def test_other_formats_of_bitsandbytes_are_told():
    state, nested, up = bitsandbytes(False), bitsandbytes(True), "layers.0.up.weight"
    nf4 = up + ".quant_state.bitsandbytes__nf4"

    def refused(given, words):
        with pytest.raises(ValueError, match=words):
            tilesmith.torch.load_quantized_(Model().half(), given, "bnb")

    refused({key.replace("nf4", "fp4"): tensor for key, tensor in state.items()}, "'layers.*fp4' of the checkpoint is bitsandbytes' FP4; expected its NF4")
    refused({up: torch.zeros(96, 64, dtype=torch.int8), "layers.0.up.SCB": torch.ones(96)}, "'layers.0.up.SCB' of the checkpoint is bitsandbytes' LLM.int8; expected its NF4")
    refused({up: state[up]}, r"'layers.0.up.weight' of the checkpoint is \[3072, 1\] of torch.uint8; expected \[96, 64\] of torch.float16, as in the model")
    refused({up: state[up], up + ".absmax": state[up + ".absmax"]}, "layer 'layers.0.up' of the checkpoint has no weight.quant_state.bitsandbytes__nf4; expected it beside its weight.absmax")
    refused({key: tensor for key, tensor in nested.items() if key != up + ".nested_quant_map"}, "'layers.0.up': there is no weight.nested_quant_map; expected it, since weight.absmax is")
    refused({key: tensor for key, tensor in nested.items() if "nested_" not in key}, "'layers.0.up': there is no weight.nested_quant_map; expected it")
    refused({**state, up + ".absmax": torch.zeros(192, dtype=torch.uint8)}, "quant_state.bitsandbytes__nf4 cannot be read; expected JSON")
    refused({**state, nf4: nested[nf4]}, "weight.absmax is torch.float32; expected uint8, since")
    refused({**state, nf4: torch.tensor(list(b"[1, 2]"), dtype=torch.uint8)}, "quant_state.bitsandbytes__nf4 cannot be read; expected JSON")
    for part, wrong in ((".nested_quant_map", torch.zeros(16)), (".nested_absmax", torch.zeros(1)), (".absmax", torch.zeros(192, dtype=torch.int32))):
        refused({**nested, up + part: wrong}, "layer 'layers.0.up': weight.absmax is 192 of")


def tied_checkpoint():
    """Of Tied, as a file has it: each weight once."""
    state, _ = checkpoint("gptq")
    gptq = {part: state["layers.0.up." + part] for part in ("qweight", "qzeros", "scales", "g_idx")}
    square = {"qweight": gptq["qweight"][:, :64].contiguous(), "qzeros": gptq["qzeros"][:, :8].contiguous(), "scales": gptq["scales"][:, :64].contiguous(), "g_idx": gptq["g_idx"]}
    given = {f"up.{part}": tensor for part, tensor in square.items()}
    given.update({f"first.{key[9:]}": tensor for key, tensor in state.items() if key.startswith("layers.0.")})
    given.update({"up.bias": torch.randn(64).half(), "alone.bias": torch.randn(64).half(), "embed.weight": torch.randn(33, 64).half(), "mask": torch.arange(5) * 7})
    return given


@pytest.mark.parametrize("device", ["cpu", "meta"])
@pytest.mark.parametrize("names", [{}, {"embed.weight": "lm_head.weight", "up.": "alone.", "first.": "second.", "mask": "inner.mask"}])
@pytest.mark.parametrize("both", [False, True])
def test_what_was_one_is_one_after_loading(device, names, both):
    given = tied_checkpoint()
    other = {}
    for key, tensor in given.items():
        old = next((old for old in names if key.startswith(old)), None)
        keep = old is None or old == "up." and key == "up.bias"
        other[key if keep else names[old] + key[len(old):]] = tensor.clone()
    if names:
        other["again.bias"], other["alone.bias"] = other.pop("up.bias"), given["alone.bias"]
    given = {**given, **other} if both else other
    with torch.device(device):
        model = Tied().half()
    loaded = tilesmith.torch.load_quantized_(model, [given], "gptq")
    assert sorted(loaded) == ["again", "alone", "first.down", "first.up", "second.down", "second.up", "up"]
    model.check()
    assert torch.equal(model.lm_head.weight, given.get("embed.weight", given.get("lm_head.weight"))) and model.mask.tolist() == [0, 7, 14, 21, 28]
    assert isinstance(model.embed.weight, torch.nn.Parameter) and model.embed.weight.requires_grad
    assert torch.equal(model.alone.bias, given["alone.bias"]) and torch.equal(model.up.bias, given.get("up.bias", given.get("again.bias")))
    x = torch.randn(2, 64).half()
    assert torch.equal(model.up(x), model.again(x))


def test_names_of_one_tensor_that_differ_are_refused():
    given = tied_checkpoint()
    for change, words in (({"lm_head.weight": torch.zeros(33, 64).half()}, "'lm_head.weight' of the checkpoint differs from another name of it"),
                          ({"inner.mask": torch.zeros(5, dtype=torch.int64)}, "'inner.mask' of the checkpoint differs from another name"),
                          ({"second.norm.bias": torch.ones(64).half()}, "'second.norm.bias' of the checkpoint differs"),
                          ({f"again.{part}": (given[f"up.{part}"] * 2 if part == "scales" else given[f"up.{part}"]) for part in ("qweight", "qzeros", "scales")},
                           "layer 'again' of the checkpoint differs from another name of it; expected the same")):
        model = Tied().half()
        before = everything(model)
        with pytest.raises(ValueError, match=words):
            tilesmith.torch.load_quantized_(model, {**given, **change}, "gptq")
        assert all(tensor is before[key] for key, tensor in everything(model).items())


def test_a_packed_weight_that_the_model_ties_to_an_embedding_is_refused():
    given = tied_checkpoint()
    packed = {f"lm_head.{part}": given[f"up.{part}"] for part in ("qweight", "qzeros", "scales")}
    model = Tied().half()
    model.embed = torch.nn.Embedding(64, 64).half()
    model.lm_head = torch.nn.Linear(64, 64, bias=False).half()
    model.lm_head.weight = model.embed.weight
    with pytest.raises(ValueError, match="layer 'lm_head' of the checkpoint is packed, and is one with the weight of an Embedding in the model; expected a model that does not tie"):
        tilesmith.torch.load_quantized_(model, packed, "gptq")
    assert model.lm_head.weight is model.embed.weight


def test_a_recurrent_layer_sees_what_is_loaded():
    model = torch.nn.Module()
    model.fc, model.lstm = torch.nn.Linear(64, 64, bias=False).half(), torch.nn.LSTM(4, 4)
    given = {key.replace("up.", "fc."): tensor for key, tensor in tied_checkpoint().items() if key.startswith("up.") and "bias" not in key}
    given.update({f"lstm.{key}": torch.randn_like(tensor) for key, tensor in model.lstm.state_dict().items()})
    tilesmith.torch.load_quantized_(model, [given], "gptq")
    x = torch.randn(3, 1, 4)
    fresh = torch.nn.LSTM(4, 4)
    fresh.load_state_dict({key[5:]: tensor for key, tensor in given.items() if key.startswith("lstm.")})
    assert torch.equal(model.lstm(x)[0], fresh(x)[0])
