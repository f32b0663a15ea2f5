"""Layers in 8-bit floats with scales of blocks, as the checkpoints of DeepSeek and Qwen have them. Without a GPU: the stand-in multiplies CPU tensors."""

import pytest

torch = pytest.importorskip("torch")

import tilesmith.torch
from test_torch import enabled
from test_torch_models import NAMES, Model
from tilesmith.torch import Fp8ExpertsLinear, Fp8Linear, _fp8
from torch_host import host  # noqa: F401


def blocks(extent):
    return -(-extent // 128)


def packed(n, k):
    """A weight of e4m3, its scales and what they stand for."""
    weight, scales = (torch.randn(n, k) * 100).to(torch.float8_e4m3fn), torch.rand(blocks(n), blocks(k)) * 0.001 + 0.0002
    return weight, scales, weight.float() * scales.repeat_interleave(128, 0)[:n].repeat_interleave(128, 1)[:, :k]


def checkpoint(dtype=torch.bfloat16):
    """Of Model: what a checkpoint has, and the dense weights of its layers."""
    torch.manual_seed(7)
    state, dense = {}, {}
    for name, (n, k) in zip(NAMES, [(96, 64), (64, 96)] * 2):
        state[f"{name}.weight"], state[f"{name}.weight_scale_inv"], dense[name] = packed(n, k)
        if name.endswith("up"):
            state[f"{name}.bias"] = torch.randn(n).to(dtype)
    for block in ("layers.0", "layers.1"):
        state[f"{block}.norm.weight"], state[f"{block}.norm.bias"] = torch.rand(64).to(dtype), torch.rand(64).to(dtype)
    state["lm_head.weight"] = torch.randn(33, 64).to(dtype)
    return state, dense


def off(got, want):
    got, want = got.detach().double(), want.detach().double()
    return float((got - want).norm() / want.norm())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("m, n, k, has_bias", [(5, 300, 200, True), (1, 16, 128, False), (3, 130, 300, False), (2, 56, 7168, True), (130, 20, 100, True)])
def test_a_layer_rounds_its_rows_by_blocks_and_multiplies(host, dtype, m, n, k, has_bias):
    torch.manual_seed(0)
    weight, scales, dense = packed(n, k)
    x, bias = torch.randn(m, k).to(dtype), torch.randn(n).to(dtype) if has_bias else None
    x[0, :128] *= 10
    layer = Fp8Linear(weight, scales, bias)
    want = x.double() @ dense.double().t() + (0 if bias is None else bias.double())
    q, of_rows = tilesmith.quantise(x, "e4m3", block=128)
    exact = (q.double() * of_rows.double().repeat_interleave(128, 1)[:, :k]) @ dense.double().t() + (0 if bias is None else bias.double())
    by_kernels = _fp8._by_kernels(x, layer.weight, layer.weight_scale_inv, layer.bias)
    problem = host.problem
    assert (problem.type, problem.transposes) == (b"e4m3f32bf16" if dtype == torch.bfloat16 else b"e4m3f32f16", b"NT")
    assert (problem.m, problem.n, problem.k, problem.scale_m, problem.scale_n, problem.bias) == (m, n, k, 3, 4, int(has_bias))
    for got in (by_kernels, layer(x)):
        assert got.dtype == dtype and got.shape == (m, n)
        assert off(got, exact) < (2**-8 if dtype == torch.bfloat16 else 2**-11) and off(got, want) < 0.08


def test_a_layer_of_any_number_of_dimensions_is_counted(host):
    weight, scales, _ = packed(40, 130)
    x = torch.randn(2, 3, 130).bfloat16()
    with enabled() as serving:
        got = _fp8._by_kernels(x, weight, scales)
        assert torch.equal(got.reshape(6, 40), _fp8._by_kernels(x.reshape(6, 130), weight, scales)) and got.shape == (2, 3, 40)
        assert _fp8._by_kernels(x.transpose(0, 1), weight, scales).shape == (3, 2, 40)
        runs = host.record.runs
        assert _fp8._by_kernels(x[:0], weight, scales).shape == (0, 3, 40) and Fp8Linear(weight, scales)(x[:0]).shape == (0, 3, 40)
        assert host.record.runs == runs
    assert serving.stats()["served"] == {"linear_fp8": 3}
    assert [str(problem) for problem in serving.problems()] == ["e4m3f32bf16 NT 6 40 130 epilogue=scale_m_1x128+scale_n_128x128"]


def test_experts_round_their_rows_by_blocks_and_multiply(host):
    torch.manual_seed(0)
    dense, x, ends = torch.randn(3, 200, 300).bfloat16(), torch.randn(7, 300).bfloat16(), torch.tensor([2, 2, 6], dtype=torch.int32)
    dense[2, :128, :128] = 0
    layer = Fp8ExpertsLinear.from_dense(dense)
    assert repr(layer) == "Fp8ExpertsLinear(experts=3, in_features=300, out_features=200, weights=e4m3_128x128, bias=False)"
    with enabled() as serving:
        by_kernels = _fp8._by_kernels(x, layer.weight, layer.weight_scale_inv, None, ends)
    assert [str(problem) for problem in serving.problems()] == ["e4m3f32bf16 NT 7 200 300 batch=3 epilogue=scale_m_1x128+scale_n_128x128 batch_mode=grouped"]
    assert host.record.args.offsets == ends.data_ptr() and (host.problem.scale_m, host.problem.scale_n) == (3, 4)
    for expert, mine in enumerate((slice(0, 2), slice(2, 2), slice(2, 6))):
        one = Fp8Linear(layer.weight[expert], layer.weight_scale_inv[expert])
        assert torch.equal(layer(x, ends)[mine], one(x[mine]))
        assert mine.start == mine.stop or off(one(x[mine]), x[mine].float() @ dense[expert].float().T) < 0.05
    assert off(by_kernels[:2], layer(x, ends)[:2]) < 2**-8 and layer.to("meta")(x.to("meta"), ends.to("meta")).shape == (7, 200)
    for arguments, line in (((x, None), "the weights have 3 dimensions"), ((x[None], ends), "x has 3 dimensions; expected 2"), ((x, ends[:2]), "expected 3 of int32")):
        with pytest.raises(RuntimeError, match=line):
            layer(arguments[0].to("meta"), arguments[1])


def test_a_model_is_rounded_to_blocks(host):
    model, plain = Model().bfloat16(), Model()
    plain.load_state_dict(model.state_dict())
    assert tilesmith.torch.quantize_(model, "e4m3_128x128") == NAMES and type(model.layers[0].up) is Fp8Linear
    x = torch.randn(5, 64)
    assert 0 < off(model(x.bfloat16()), plain(x)) < 0.05
    with pytest.raises(ValueError, match="activations is 's8'; expected None of 'e4m3_128x128', whose layers round to e4m3"):
        tilesmith.torch.quantize_(Model().bfloat16(), "e4m3_128x128", activations="s8")


def test_zeros_and_what_is_no_number_stay_in_their_rows(host):
    weight, scales, _ = packed(40, 200)
    x = torch.randn(4, 200).bfloat16()
    x[0], x[1, 150], x[2, 7] = 0, float("nan"), float("inf")
    for got in (_fp8._by_pytorch(x, weight, scales), Fp8Linear(weight, scales)(x)):
        assert (got[0] == 0).all() and got[1:3].isnan().all() and got[3].isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("of_scales", [torch.float32, torch.bfloat16])
def test_a_checkpoint_is_loaded_into_a_model_of_no_memory(dtype, of_scales):
    state, _ = checkpoint(dtype)
    for key in state:
        if key.endswith("_inv"):  # Qwen's are bf16
            state[key] = state[key].to(of_scales)
    with torch.device("meta"):
        model = Model().to(dtype)
    keys = sorted(state)
    assert tilesmith.torch.load_quantized_(model, [{key: state[key]} for key in keys], "fp8") == sorted(NAMES)
    assert model.state_dict().keys() == state.keys()
    plain = Model()
    for key, tensor in state.items():
        layer = key.rpartition(".")[0]
        if key.endswith("_inv"):
            plain.get_parameter(f"{layer}.weight").data = state[f"{layer}.weight"].float() * tensor.float()
            assert model.get_submodule(layer).weight_scale_inv.dtype == torch.float32
        elif f"{key}_scale_inv" not in state:
            plain.get_parameter(key).data = tensor.float()
    x = torch.randn(5, 64).to(dtype)
    assert off(model(x), plain(x.float())) < 0.05
    assert repr(model.layers[0].up) == "Fp8Linear(in_features=64, out_features=96, weights=e4m3_128x128, bias=True)"
    with pytest.raises(ValueError, match="layer 'layers.0.up' of the model is packed already"):
        tilesmith.torch.load_quantized_(model, state, "fp8")


def test_every_tensor_is_needed_but_a_bias():
    state, _ = checkpoint()
    for gone in state:
        model = Model().bfloat16()
        rest = {key: tensor for key, tensor in state.items() if key != gone}
        if gone.endswith("up.bias"):
            tilesmith.torch.load_quantized_(model, [rest], "fp8")
            continue
        layer, _, part = gone.rpartition(".")
        other = "weight" if part != "weight" else "weight_scale_inv"
        lacks = f"layer '{layer}' of the checkpoint has no {part}; expected it beside its {other}"
        words = lacks if layer in NAMES else f"^no file of the checkpoint has '{gone}'"
        with pytest.raises(ValueError, match=words):
            tilesmith.torch.load_quantized_(model, [rest], "fp8")
        assert type(model.layers[0].up) is torch.nn.Linear


def test_what_is_not_of_the_format_is_told():
    state, _ = checkpoint()

    def refused(words, changes=(), model=None, **how):
        model = model or Model().bfloat16()
        with pytest.raises(ValueError, match=words):
            tilesmith.torch.load_quantized_(model, {**state, **dict(changes)}, "fp8", **how)
        assert type(model.layers[0].up) is torch.nn.Linear  # nothing was changed

    weight, scale = "layers.0.up.weight", "layers.0.up.weight_scale_inv"
    for wrong in (torch.ones(1, 2), torch.ones(1), torch.ones(1, 1, dtype=torch.int32), torch.ones(1, 1, dtype=torch.float64)):
        refused(rf"^layer 'layers.0.up': weight_scale_inv is \[.*\] of {wrong.dtype}; expected \[1, 1\] of float32, bfloat16 or float8_e8m0fnu, a scale for each 128x128$",
                {scale: wrong})
    for number in (float("nan"), -1.0, float("inf")):
        refused("^layer 'layers.0.up': weight_scale_inv has NaN, infinities or numbers below 0; expected scales$", {scale: torch.full((1, 1), number)})
    refused(r"^layer 'layers.0.up': weight is \[96, 64\] of torch.bfloat16; expected n x k of float8_e4m3fn$", {weight: torch.ones(96, 64).bfloat16()})
    refused(r"^layer 'layers.0.up': weight is \[96, 64\] of torch.float8_e5m2; expected", {weight: torch.ones(96, 64).to(torch.float8_e5m2)})
    refused("^layer 'layers.0.up' of the checkpoint is 96x80; expected 96x64, as in the model$", {weight: torch.ones(96, 80).to(torch.float8_e4m3fn)})
    refused("^layer 'layers.0.norm' of the model is LayerNorm; expected Linear$", {"layers.0.norm.weight": torch.ones(64).to(torch.float8_e4m3fn)})
    refused(r"^'lm_head.weight' of the checkpoint is \[33, 64\] of torch.float8_e5m2; expected \[33, 64\] of torch.bfloat16, as in the model$",
            {"lm_head.weight": torch.ones(33, 64).to(torch.float8_e5m2)})
    refused("^layer 'layers.0.up' of the model is of torch.float32; expected float16 or bfloat16$", model=Model())
    refused("^the checkpoint has a tensor 'layers.0.up.input_scale', of 1 such", {"layers.0.up.input_scale": torch.ones(1)})
    refused("^dtype is 'f16'; expected None or 'f32' of 'fp8'$", dtype="f16")
    refused("^bits is 8; expected 4 of 'fp8'$", bits=8)


def test_what_was_one_is_one_after_loading():
    model = torch.nn.Module()
    model.up, model.again = torch.nn.Linear(64, 96), torch.nn.Linear(64, 96)
    model.again.weight, model.again.bias = model.up.weight, model.up.bias
    weight, scales, _ = packed(96, 64)
    tilesmith.torch.load_quantized_(model.half(), [{"up.weight": weight, "up.weight_scale_inv": scales, "up.bias": torch.ones(96)}], "fp8")
    assert model.up is not model.again and model.up.weight is model.again.weight and model.up.weight_scale_inv is model.again.weight_scale_inv
    assert model.up.bias is model.again.bias
    both = {f"{name}.{part}": tensor for name in ("up", "again") for part, tensor in (("weight", weight), ("weight_scale_inv", scales))}
    both["again.weight"] = -weight.float()
    model.up, model.again = torch.nn.Linear(64, 96).half(), torch.nn.Linear(64, 96).half()
    model.again.weight = model.up.weight
    both["again.weight"] = both["again.weight"].to(torch.float8_e4m3fn)
    with pytest.raises(ValueError, match="layer 'again' of the checkpoint differs from another name of it"):
        tilesmith.torch.load_quantized_(model, both, "fp8")


def test_a_layer_keeps_its_types_and_its_state():
    weight, scales, _ = packed(96, 200)
    layer = Fp8Linear(weight, scales, torch.ones(96).bfloat16())
    for move in (lambda: layer.half(), lambda: layer.to(torch.bfloat16), lambda: layer.to("cpu", torch.float32)):
        move()
        assert (layer.weight.dtype, layer.weight_scale_inv.dtype) == (torch.float8_e4m3fn, torch.float32)
        assert torch.equal(layer.weight.float(), weight.float()) and torch.equal(layer.weight_scale_inv, scales)
    assert layer.bias.dtype == torch.float32
    other = Fp8Linear(*packed(96, 200)[:2], torch.zeros(96))
    other.load_state_dict(layer.state_dict())
    x = torch.randn(3, 200).half()
    assert torch.equal(layer(x), other(x))
    assert layer.to("meta")(x.to("meta")).shape == (3, 96) and layer.weight.is_meta


def test_another_width_is_an_error_as_of_a_dense_layer(host):
    weight, scales, _ = packed(16, 128)
    for x in (torch.ones(1, 120), torch.ones(3, 136), torch.ones(())):
        for call in (Fp8Linear(weight, scales), lambda x: _fp8._by_kernels(x, weight, scales)):
            with pytest.raises(RuntimeError, match="expected 128 columns, the layer's in_features"):
                call(x.half())
    with pytest.raises(RuntimeError, match="x is torch.float32; expected float16 or bfloat16"):
        Fp8Linear(weight, scales)(torch.ones(1, 128))
    with pytest.raises(RuntimeError, match=r"weight is of torch.float8_e4m3fn and scales \[1, 1\] of torch.float16; expected float8_e4m3fn and \[1, 1\] of float32"):
        torch.ops.tilesmith.linear_fp8(torch.ones(1, 128).half(), weight, scales.half())
    assert Fp8Linear(weight, scales)(torch.ones(128).half()).shape == (16,) == _fp8._by_kernels(torch.ones(128).half(), weight, scales).shape


def test_compile_keeps_the_layer_as_one_operator():
    seen = []

    def backend(graph, inputs):
        seen.extend(str(node.target) for node in graph.graph.nodes if node.op == "call_function")
        return graph.forward

    layer, x = Fp8Linear(*packed(16, 200)[:2]), torch.randn(3, 200).half()
    assert torch.equal(torch.compile(layer, backend=backend, fullgraph=True)(x), layer(x))
    assert len(seen) == 1 and "linear_fp8" in seen[0]
