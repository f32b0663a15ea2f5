"""GGUF files, written by the package gguf and loaded into a model of Llama's shape. In host memory, repacked by the real library."""

import sys

import pytest

torch = pytest.importorskip("torch")
gguf = pytest.importorskip("gguf")

import tilesmith.torch

pytestmark = pytest.mark.usefixtures("real")
HEADS, KEY_HEADS, SIZE, HIDDEN, INNER, WORDS = 4, 2, 32, 64, 96, 40


class Attention(torch.nn.Module):
    def __init__(self, bias, norms):
        super().__init__()
        self.q_proj, self.k_proj = torch.nn.Linear(HIDDEN, HEADS * SIZE, bias=bias), torch.nn.Linear(HIDDEN, KEY_HEADS * SIZE, bias=bias)
        self.v_proj, self.o_proj = torch.nn.Linear(HIDDEN, KEY_HEADS * SIZE, bias=bias), torch.nn.Linear(HEADS * SIZE, HIDDEN, bias=False)
        if norms:
            self.q_norm, self.k_norm = torch.nn.LayerNorm(SIZE, bias=False), torch.nn.LayerNorm(SIZE, bias=False)


class Block(torch.nn.Module):
    def __init__(self, bias, norms):
        super().__init__()
        self.self_attn, self.mlp = Attention(bias, norms), torch.nn.Module()
        self.mlp.gate_proj, self.mlp.up_proj = torch.nn.Linear(HIDDEN, INNER, bias=False), torch.nn.Linear(HIDDEN, INNER, bias=False)
        self.mlp.down_proj = torch.nn.Linear(INNER, HIDDEN, bias=False)
        self.input_layernorm, self.post_attention_layernorm = torch.nn.LayerNorm(HIDDEN, bias=False), torch.nn.LayerNorm(HIDDEN, bias=False)


class Model(torch.nn.Module):
    """The tensors of a Llama, a Qwen2 (bias) or a Qwen3 (norms), by the names of transformers."""

    def __init__(self, bias=False, norms=False, tied=False):
        super().__init__()
        self.model, self.lm_head = torch.nn.Module(), torch.nn.Linear(HIDDEN, WORDS, bias=False)
        self.model.embed_tokens, self.model.norm = torch.nn.Embedding(WORDS, HIDDEN), torch.nn.LayerNorm(HIDDEN, bias=False)
        self.model.layers = torch.nn.ModuleList([Block(bias, norms), Block(bias, norms)])
        if tied:
            self.lm_head.weight = self.model.embed_tokens.weight


THEIRS = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output", "input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q",
          "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm",
          "self_attn.k_norm": "attn_k_norm", "post_attention_layernorm": "ffn_norm", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}


def as_llama_cpp_has_it(tensor, heads):
    """As its converter writes q and k of a Llama: conversion/llama.py, permute()."""
    return tensor.reshape(heads, 2, tensor.shape[0] // heads // 2, *tensor.shape[1:]).swapaxes(1, 2).reshape(tensor.shape)


def written(path, model, kind, architecture="llama", dense="F32", skip=(), extra=(), split=None):
    """The file of a model, and what its tensors stand for by their names in the model."""
    writer, stands_for = gguf.GGUFWriter(path, architecture), {}
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KEY_HEADS)
    for at, (key, tensor) in enumerate(model.state_dict().items()):
        name, _, part = key.rpartition(".")
        if key in skip or split is not None and at % 2 != split:
            continue
        data = tensor.numpy()
        if architecture == "llama" and ("q_proj" in key or "k_proj" in key):
            data = as_llama_cpp_has_it(data, HEADS if "q_proj" in key else KEY_HEADS)
        type = gguf.GGMLQuantizationType[kind if tensor.dim() == 2 else dense if dense != "BF16" else "F32"]
        number, _, name = name[len("model.layers."):].partition(".") if name.startswith("model.layers.") else ("", "", name)
        stored = blocks_of(type.name, data.shape) if type.name in ("Q4_K", "Q6_K") else gguf.quants.quantize(data, type)
        writer.add_tensor(f"blk.{number}.{THEIRS[name]}.{part}" if number else f"{THEIRS[name]}.{part}", stored, raw_dtype=type)
        exact = torch.from_numpy(gguf.quants.dequantize(stored, type).copy())
        if architecture == "llama" and ("q_proj" in key or "k_proj" in key):
            heads = HEADS if "q_proj" in key else KEY_HEADS  # back, by another way than the product's
            rows = torch.from_numpy(as_llama_cpp_has_it(torch.arange(exact.shape[0]).numpy(), heads))
            exact = torch.empty_like(exact).index_copy(0, rows, exact)
        stands_for[key] = exact
    for name, data, type in extra:
        writer.add_tensor(name, data, raw_dtype=type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return stands_for


def blocks_of(kind, shape):
    """Any blocks whose factors are numbers below 2, of Q6_K, whose scales are larger, below 1 / 128."""
    blocks = torch.randint(0, 256, (shape[0], shape[1] // 256, 144 if kind == "Q4_K" else 210), dtype=torch.uint8)
    for at in (1, 3) if kind == "Q4_K" else (209,):
        blocks[..., at] &= 0xbf if kind == "Q4_K" else 0x9f
    return blocks.reshape(shape[0], -1).numpy()


def dense_of(layer):
    return tilesmith.torch.dequantized(layer.codes, layer.scales, layer.zeros, layer.kind, layer.in_features)


@pytest.mark.parametrize("kind", ["Q8_0", "Q4_0"])
@pytest.mark.parametrize("architecture, bias, norms, tied", [("llama", False, False, False), ("llama", True, False, True), ("qwen2", True, False, False),
                                                             ("qwen3", False, True, True)])
def test_a_file_is_loaded_its_packed_layers_bit_by_bit(tmp_path, kind, architecture, bias, norms, tied):
    torch.manual_seed(0)
    file = tmp_path / "model.gguf"
    exact = written(file, Model(bias, norms, tied), kind, architecture, skip=("lm_head.weight",) if tied else ())
    with torch.device("meta"):
        model = Model(bias, norms, tied).half()
    names = tilesmith.torch.load_quantized_(model, file, "gguf")
    assert len(names) == 14 + (not tied) and ("lm_head" in names) != tied
    for name in names:
        layer = model.get_submodule(name)
        assert layer.kind == f"{'s8' if kind == 'Q8_0' else 's4'}_g32" and torch.equal(dense_of(layer), exact.pop(f"{name}.weight"))
    for key, want in exact.items():
        assert torch.equal(model.state_dict()[key], want.half()), key
    assert model.lm_head.weight is model.model.embed_tokens.weight if tied else True


@pytest.mark.parametrize("kind", ["Q4_K", "Q6_K"])
@pytest.mark.parametrize("architecture, type", [("llama", torch.float16), ("qwen2", torch.bfloat16)])
def test_a_file_of_k_quants_is_loaded_bit_by_bit(tmp_path, monkeypatch, kind, architecture, type):
    monkeypatch.setitem(globals(), "HIDDEN", 256)
    monkeypatch.setitem(globals(), "INNER", 512)
    monkeypatch.setitem(globals(), "SIZE", 64)
    file = tmp_path / "model.gguf"
    exact = written(file, Model(), kind, architecture)
    with torch.device("meta"):
        model = Model().to(type)
    names = tilesmith.torch.load_quantized_(model, file, "gguf")
    assert len(names) == 15
    for name in names:
        layer = model.get_submodule(name)
        assert layer.kind == kind.lower() and torch.equal(dense_of(layer), exact.pop(f"{name}.weight"))
        before = dense_of(layer)
        assert torch.equal(dense_of(layer.half()), before) and torch.equal(dense_of(layer.bfloat16()), before)
    for key, want in exact.items():
        assert torch.equal(model.state_dict()[key], want.to(type)), key
    layer, x = model.model.layers[0].mlp.down_proj, torch.randn(3, 512).to(type)
    assert torch.allclose(layer(x).float(), x.float() @ dense_of(layer).T, rtol=0.01, atol=0.01 * 512)


@pytest.mark.parametrize("kind", ["F32", "F16", "BF16"])
def test_dense_tensors_are_loaded_in_the_types_of_the_model(tmp_path, kind):
    exact = written(tmp_path / "model.gguf", Model(), kind, extra=[("rope_freqs.weight", torch.ones(16).numpy(), gguf.GGMLQuantizationType.F32)])
    model = Model().bfloat16()
    assert tilesmith.torch.load_quantized_(model, str(tmp_path / "model.gguf"), "gguf") == []
    assert all(torch.equal(model.state_dict()[key], want.bfloat16()) for key, want in exact.items())


def test_a_model_may_be_in_several_files(tmp_path):
    files, model, exact = [tmp_path / "0.gguf", tmp_path / "1.gguf"], Model(), {}
    for split, file in enumerate(files):
        exact.update(written(file, model, "Q8_0", split=split))
    loaded = Model().half()
    assert len(tilesmith.torch.load_quantized_(loaded, files, "gguf", dtype="f32")) == 15
    assert torch.equal(dense_of(loaded.model.layers[1].self_attn.k_proj), exact["model.layers.1.self_attn.k_proj.weight"])
    with pytest.raises(ValueError, match="^no file of the checkpoint has 'model.*, the first of .* such; expected all tensors of the model$"):
        tilesmith.torch.load_quantized_(Model().half(), files[0], "gguf")
    with pytest.raises(ValueError, match="is in two GGUF files; expected it in one$"):
        tilesmith.torch.load_quantized_(Model().half(), [files[0], files[0]], "gguf")


@pytest.mark.parametrize("kind, block", [("Q3_K", 110), ("Q5_K", 176), ("IQ4_XS", 136)])
def test_other_quantised_types_become_dense_layers(tmp_path, monkeypatch, kind, block):
    monkeypatch.setitem(globals(), "HIDDEN", 256)
    torch.manual_seed(0)
    of, blocks = gguf.GGMLQuantizationType[kind], {}
    for name, rows in (("output", WORDS), ("blk.1.attn_k", KEY_HEADS * SIZE)):
        stored = torch.randint(0, 256, (rows, block), dtype=torch.uint8)
        stored[:, :4] = stored[:, -2:] = 0x2c  # factors of about 0.06, wherever the type has them
        blocks[name] = stored.numpy()
    skip = ("lm_head.weight", "model.layers.1.self_attn.k_proj.weight")
    written(tmp_path / "model.gguf", Model(), "Q8_0", skip=skip, extra=[(f"{name}.weight", stored, of) for name, stored in blocks.items()])
    model = Model().half()
    assert len(tilesmith.torch.load_quantized_(model, tmp_path / "model.gguf", "gguf")) == 13
    exact = {name: torch.from_numpy(gguf.quants.dequantize(stored, of).copy()) for name, stored in blocks.items()}
    assert type(model.lm_head) is torch.nn.Linear and torch.equal(model.lm_head.weight, exact["output"].half())
    rows = torch.from_numpy(as_llama_cpp_has_it(torch.arange(KEY_HEADS * SIZE).numpy(), KEY_HEADS))
    keys = torch.empty_like(exact["blk.1.attn_k"]).index_copy(0, rows, exact["blk.1.attn_k"])
    assert torch.equal(model.model.layers[1].self_attn.k_proj.weight, keys.half())


def test_what_is_not_supported_is_told(tmp_path, monkeypatch):
    def refused(words, model=None, **how):
        written(tmp_path / "model.gguf", Model(), "Q8_0", **how)
        model = model or Model().half()
        with pytest.raises(ValueError, match=words):
            tilesmith.torch.load_quantized_(model, tmp_path / "model.gguf", "gguf")
        assert type(model.lm_head) is torch.nn.Linear

    types = gguf.GGMLQuantizationType
    refused("^'output.weight' of the GGUF file is I8; expected F32, F16, BF16 or a type that the package gguf dequantizes$", skip=("lm_head.weight",),
            extra=[("output.weight", torch.zeros(WORDS, HIDDEN, dtype=torch.int8).numpy(), types.I8)])
    refused("^the architecture of the GGUF file is 'gemma3'; expected 'llama', 'qwen2', 'qwen3', in this machine's byte order$", architecture="gemma3")
    experts = torch.ones(2, 4, 4).numpy()
    refused("^'blk.0.ffn_gate_exps.weight' of the GGUF file is in no model of Llama's shape", extra=[("blk.0.ffn_gate_exps.weight", experts, types.F32)])
    refused("^'blk.0.attn_q.weight' of the GGUF file has 12 rows; expected a multiple of 2 for each of its 4 heads$",
            skip=("model.layers.0.self_attn.q_proj.weight",), extra=[("blk.0.attn_q.weight", torch.ones(12, HIDDEN).numpy(), types.F32)])
    other = Model().half()
    other.model.layers[0].mlp.up_proj = torch.nn.Linear(HIDDEN, 80).half()
    refused("^layer 'model.layers.0.mlp.up_proj' of the checkpoint is 96x64; expected 80x64, as in the model$", model=other)
    refused("^the checkpoint has a layer 'model.layers.1.*; expected one that the model has$", model=shorter())
    for given in ({"output.weight": torch.ones(1)}, [{"output.weight": torch.ones(1)}]):
        with pytest.raises(TypeError, match="^state is a (dict|list); expected the path of a GGUF file, or the paths of its parts$"):
            tilesmith.torch.load_quantized_(Model().half(), given, "gguf")
    monkeypatch.setitem(sys.modules, "gguf", None)
    with pytest.raises(ImportError, match="^GGUF files are read with the package gguf, which cannot be imported .*: pip install gguf$"):
        tilesmith.torch.load_quantized_(Model().half(), tmp_path / "model.gguf", "gguf")


def shorter():
    model = Model().half()
    del model.model.layers[1]
    return model
