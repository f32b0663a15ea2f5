"""Weights in 4 bits beside 8-bit floats and integers. The stand-in multiplies CPU tensors, whose codes are laid out by the words of tilesmith_weights.h."""

import io

import pytest

torch = pytest.importorskip("torch")

import tilesmith.torch
from test_torch import enabled
from test_torch_checkpoints import checkpoint
from test_torch_models import NAMES, Model
from test_weights import canonical
from test_weights_8_bits import canonical8
from tilesmith import weights
from tilesmith.torch import ExpertsLinear, Linear, _experts, _linear
from tilesmith.weights import Weights
from torch_host import host  # noqa: F401

E2M1 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])


def laid_out(codes, type, a_bits):
    """Codes one a byte, n x k or experts x n x k, as kernels read them."""
    if codes.dim() == 3:
        return torch.stack([laid_out(one, type, a_bits) for one in codes])
    (n, k), padding, rows = codes.shape, 8 if type == "s4" else 0, codes.tolist()
    made = canonical8(n, k, padding, lambda i, j: rows[i][j]) if a_bits == 8 else canonical(4, n, k, padding, lambda i, j: rows[i][j])
    return torch.tensor(list(made), dtype=torch.uint8)


def some(n, k, text, scale_type=torch.bfloat16, a_bits=8, experts=None):
    """Weights as if on a device, and W in f32."""
    type, group = text.split("_")[0], text.split("_")[1].split("+")[0]
    each = k if group == "column" else int(group[1:])
    first = () if experts is None else (experts,)
    codes = torch.randint(0, 16, (*first, n, k), dtype=torch.uint8)
    scales = (torch.rand(*first, k // each, n) / 8 + 0.01).to(scale_type)
    low = -8 if type == "s4" else 0
    zeros = torch.randint(low, low + 16, scales.shape).to(scale_type) if "+zeros" in text else None
    dense = E2M1[codes.long()] if type == "e2m1" else codes.float() + low
    over = lambda part: part.float().repeat_interleave(each, -2).transpose(-1, -2)
    dense = (dense - (0 if zeros is None else over(zeros))) * over(scales)
    return Weights.of_tensors(text, n, k, laid_out(codes, type, a_bits), scales, zeros, a_bits), dense


def off(got, want):
    return float((got.double() - want.double()).norm() / want.double().norm())


STEP = {torch.bfloat16: 2**-8, torch.float16: 2**-11, torch.float32: 2**-20}


PAIRS = {("e4m3", torch.bfloat16): "e4m3f32bf16", ("e4m3", torch.float16): "e4m3f32f16", ("e4m3", torch.float32): "e4m3f32",
         ("s8", torch.bfloat16): "s8s32bf16", ("s8", torch.float16): "s8s32f16"}


@pytest.mark.parametrize("text", ["s4_g32", "s4_g64+zeros", "u4_g128+zeros", "u4_column", "e2m1_g32"])
@pytest.mark.parametrize("of_a, output", PAIRS)
@pytest.mark.parametrize("m, n, k", [(5, 40, 128), (1, 16, 256), (17, 33, 128)])
def test_a_product_of_8_bits_and_weights(host, text, of_a, output, m, n, k):
    library = tilesmith.open()
    x = torch.randn(m, k)
    q, rows = tilesmith.quantise(x, of_a)
    for scale_type in {output, torch.float32}:
        of = text + ("+f32" if scale_type == torch.float32 else "")
        w, dense = some(n, k, of, scale_type)
        exact = (q.double() * rows.double()[:, None]) @ dense.double().T
        name = PAIRS[of_a, output]
        got = tilesmith.gemm(q, w, scale_m=rows, out_dtype=output, library=library)
        on = host.problem
        assert (on.type.decode(), on.transposes, on.m, on.n, on.k, on.weights.decode()) == (name, b"NT", m, n, k, of)
        assert got.dtype == output and off(got, exact) < STEP[output]
        bias, out = torch.randn(n), torch.empty(m, n, dtype=output)
        for run in (lambda: tilesmith.gemm(q, w, out, scale_m=rows, bias=bias, activation="relu", library=library),
                    lambda: weights.linear(q, w, out, scale_m=rows, bias=bias, activation="relu", library=library)):
            out.fill_(99)
            assert run() is out and off(out, torch.relu(exact + bias)) < STEP[output]
        c = torch.randn(m, n).to(output)
        got = tilesmith.gemm(q, w, scale_m=rows, c=c, alpha=0.5, beta=2.0, out_dtype=output, library=library)
        assert off(got, exact * 0.5 + 2 * c.double()) < 2 * STEP[output]
        weights.linear(q, w, out, scale_m=rows, library=library)
        problem = tilesmith.Problem.parse(f"{name} NT {m} {n} {k} epilogue={'scale_m1' if m == 1 else 'scale_m'} weights={of}")
        assert problem == library.problem(q, w, scale_m=rows, out_dtype=output)
        assert (host.problem.scale_m, host.problem.weights) == (problem.c.scale_m, problem.c.weights)
    library.close()


@pytest.mark.parametrize("of_a", ["e4m3", "s8"])
def test_the_result_has_the_type_of_the_scales(host, of_a):
    library = tilesmith.open()
    q, rows = tilesmith.quantise(torch.randn(3, 64), of_a)
    for scale_type, text, output in ((torch.float16, "s4_g32", torch.float16), (torch.bfloat16, "s4_g32", torch.bfloat16), (torch.float32, "s4_g32+f32", torch.bfloat16)):
        w, dense = some(16, 64, text, scale_type)
        for got in (tilesmith.gemm(q, w, scale_m=rows, library=library), weights.linear(q, w, scale_m=rows, library=library)):
            assert got.dtype == output and off(got, q.double() * rows.double()[:, None] @ dense.double().T) < STEP[output]
    library.close()


def test_scales_and_zeros_have_the_alignment_of_the_problem(host):
    library = tilesmith.open()
    w, dense = some(16, 64, "u4_g32+zeros")
    q, rows = tilesmith.quantise(torch.randn(3, 64), "e4m3")
    for shift, align in ((0, 16), (1, 2), (2, 4), (4, 8)):
        for part in ("scales", "zeros"):
            parts = {"scales": w.scales, "zeros": w.zeros}
            there = torch.empty(parts[part].numel() + 8, dtype=torch.bfloat16)[shift:][:parts[part].numel()].view(parts[part].shape)
            parts[part] = there.copy_(parts[part])
            moved = Weights.of_tensors(w.text, 16, 64, w.codes, parts["scales"], parts["zeros"], 8)
            for run in (tilesmith.gemm, weights.linear):
                out = torch.empty(3, 16).bfloat16()
                run(q, moved, out, scale_m=rows, library=library)
                assert host.problem.align_bytes == align and off(out, q.double() * rows.double()[:, None] @ dense.double().T) < 2**-8
    library.close()


def test_weights_for_16_bits_are_multiplied_by_gemm(host):
    library = tilesmith.open()
    for dtype in (torch.float16, torch.bfloat16):
        for text in ("s4_g32", "u4_g64+zeros", "e2m1_column+f32"):
            w, dense = some(40, 128, text, torch.float32 if "f32" in text else dtype, 16)
            x = torch.randn(5, 128).to(dtype)
            assert off(tilesmith.gemm(x, w, library=library), x.double() @ dense.double().T) < STEP[dtype]
            assert (host.problem.type, host.problem.weights) == (b"f16f32f16" if dtype == torch.float16 else b"bf16f32bf16", text.encode())
            assert off(tilesmith.gemm(x.T.contiguous().T, w, library=library), x.double() @ dense.double().T) < STEP[dtype] and host.problem.transposes == b"TT"
    for n, k in ((1, 32), (1, 1), (16, 1)):  # as rows or as columns: weights lie by rows of W
        w, dense = some(n, k, "s4_column", torch.float16, 16)
        x = torch.randn(5, k).half()
        assert off(tilesmith.gemm(x, w, library=library), x.double() @ dense.double().T) < 2**-10 and host.problem.transposes == b"NT"
    library.close()


@pytest.mark.parametrize("of_a", ["e4m3", "s8"])
def test_experts_of_8_bits(host, of_a):
    library = tilesmith.open()
    w, dense = some(16, 64, "u4_g32+zeros", torch.bfloat16, 8, experts=3)
    q, rows = tilesmith.quantise(torch.randn(7, 64), of_a)
    ends = torch.tensor([2, 2, 7], dtype=torch.int32)
    exact = torch.cat([(q[first:last].double() * rows[first:last, None]) @ dense[expert].double().T for expert, (first, last) in enumerate([(0, 2), (2, 2), (2, 7)])])
    for got in (tilesmith.gemm(q, w, scale_m=rows, offsets=ends, library=library), weights.linear(q, w, scale_m=rows, offsets=ends, library=library)):
        assert off(got, exact) < 2**-8 and (host.problem.batch_mode, host.problem.batch, host.problem.weights) == (3, 3, b"u4_g32+zeros")
    with pytest.raises(ValueError, match="^weights are of 3 experts; expected offsets, where the rows of each end$"):
        tilesmith.gemm(q, w, scale_m=rows, library=library)
    library.close()


def test_what_does_not_fit_is_one_line(host):
    library = tilesmith.open()
    for_bytes, half, single = some(16, 64, "s4_g32")[0], some(16, 64, "s4_g32", torch.float16, 16)[0], some(16, 64, "s4_g32+f32", torch.float32)[0]
    q, rows = tilesmith.quantise(torch.randn(3, 64), "e4m3")
    x, q8 = torch.randn(3, 64).half(), tilesmith.quantise(torch.randn(3, 64), "s8")[0]
    on_host = Weights("s4", 16, 64, 32, "bf16", for_bytes.codes, for_bytes.scales, None, None, 8)
    for run in (tilesmith.gemm, weights.linear):
        what = "a" if run is tilesmith.gemm else "x"
        for given, w, more, line in (
                (q, half, {}, f"{what} is of e4m3; expected f16 or bf16, for which the weights are packed"),
                (x, for_bytes, {}, f"{what} is of f16; expected e4m3 or s8, for which the weights are packed"),
                (x.float(), half, {}, f"{what} is of f32; expected f16 or bf16$"),
                (x.to(torch.float8_e5m2), for_bytes, {}, f"{what} is of e5m2; expected e4m3 or s8$"),
                (q, on_host, {}, "weights are in host memory; expected some on a CUDA device"),
                (q, for_bytes, {"out": torch.empty(3, 16).half()}, "the scales of the weights are bf16; expected f16, as the output, or f32"),
                (q8, half, {}, f"{what} is of s8; expected f16 or bf16, for which the weights are packed"),
                (q.view(torch.uint8), for_bytes, {}, f"{what} is of u8; expected e4m3 or s8$"),
                (q8, single, {"out": torch.empty(3, 16)}, "the output is f32; expected f16 or bf16 of a product of s8 and weights"),
                (q8, single, {"out": torch.empty(3, 16, dtype=torch.int32)}, "the output is s32; expected f16 or bf16 of a product of s8 and weights"),
                (q, single, {"out": torch.empty(3, 16).to(torch.float8_e4m3fn)}, "the output is e4m3; expected f16, bf16 or f32 of a product of e4m3 and weights$")):
            with pytest.raises((TypeError, ValueError), match=f"^{line}") as caught:
                run(given, w, library=library, **more)
            assert "\n" not in str(caught.value)
    for more, line in (({"compute": "f16"}, "compute is 'f16'; expected None with weights"), ({"out": torch.empty(16, 3).half().T}, "out has contiguous columns; expected contiguous rows with weights"),
                       ({"out_dtype": "f32"}, "the output is f32; expected f16 of a product of f16 and weights")):
        with pytest.raises(ValueError, match=f"^{line}"):
            tilesmith.gemm(x, half, library=library, **more)
    with pytest.raises(ValueError, match="^a is 2x3x64; expected 2 dimensions with weights"):
        tilesmith.gemm(torch.zeros(2, 3, 64).half(), half, library=library)
    with pytest.raises(ValueError, match="^a is 3x32 and b 64x16; expected as many columns of a as rows of b"):
        tilesmith.gemm(torch.zeros(3, 32).half(), half, library=library)
    with pytest.raises(ValueError, match="^scale_m is 2 of f32; expected 3 of f32, one for each row of x"):
        weights.linear(q, for_bytes, scale_m=torch.ones(2), library=library)
    library.close()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("text", ["s4_g64", "u4_g32+zeros+f32", "e2m1_g32+f32"])
@pytest.mark.parametrize("of_a", ["e4m3", "s8"])
def test_a_layer_rounds_its_rows_and_multiplies(host, dtype, text, of_a):
    w, dense = some(40, 128, text, torch.float32 if "+f32" in text else dtype)
    layer = Linear(w, torch.randn(40).to(dtype), "silu", of_a)
    x = torch.randn(2, 3, 128).to(dtype)
    q, rows = tilesmith.quantise(x.reshape(6, 128), of_a)
    want = torch.nn.functional.silu((q.double() * rows.double()[:, None]) @ dense.double().T + layer.bias.double()).reshape(2, 3, 40)
    assert torch.allclose(tilesmith.torch.dequantized(w.codes, w.scales, w.zeros, text, 128, activations=of_a), dense)
    with enabled() as serving:
        by_kernels = _linear._by_kernels(x, layer.codes_a8, layer.scales, layer.zeros, layer.kind, 128, layer.bias, "silu", of_a)
        assert [str(problem) for problem in serving.problems()] == [f"{PAIRS[of_a, dtype]} NT 6 40 128 epilogue=scale_m+bias_n+silu weights={text}"]
        assert serving.stats()["served"] == {"linear_weights": 1}
    for got in (by_kernels, layer(x), tilesmith.torch.linear(x, w, layer.bias, "silu", of_a)):
        assert got.dtype == dtype and got.shape == (2, 3, 40) and off(got, want) < STEP[dtype] * 2
    assert off(by_kernels, torch.nn.functional.silu(x.double() @ dense.double().T + layer.bias.double())) < 0.08
    assert layer.to("meta")(x.to("meta")).shape == (2, 3, 40)


@pytest.mark.parametrize("of_a", [None, "e4m3"])
def test_pytorch_gates_many_rows(host, monkeypatch, of_a):
    w, _ = some(80, 128, "s4_g64", torch.bfloat16, 16 if of_a is None else 8)
    x, bias = torch.randn(6, 128).bfloat16(), torch.randn(80).bfloat16()
    layer = Linear(w, bias, "swiglu", of_a)
    codes = layer.codes if of_a is None else layer.codes_a8
    made, problems = [], []
    for apart in (False, True):
        monkeypatch.setattr(_linear, "_gates_apart", lambda *_, apart=apart: apart)
        with enabled() as serving:
            made.append(_linear._by_kernels(x, codes, layer.scales, layer.zeros, layer.kind, 128, bias, "swiglu", of_a))
            problems.append(str(next(iter(serving.problems()))))
    assert "+swiglu" in problems[0] and problems[1] == problems[0].replace("+swiglu", "")
    assert made[1].shape == (6, 40) and off(made[1], made[0]) < 4 * STEP[torch.bfloat16]


@pytest.mark.parametrize("of_a", ["e4m3", "s8"])
def test_experts_round_their_rows_and_multiply(host, of_a):
    w, dense = some(40, 128, "s4_g64", experts=3)
    layer, x, ends = ExpertsLinear(w, None, "swiglu", of_a), torch.randn(6, 128).bfloat16(), torch.tensor([2, 2, 6], dtype=torch.int32)
    q, rows = tilesmith.quantise(x, of_a)
    sums = torch.stack([(q.double() * rows.double()[:, None])[i] @ dense[0 if i < 2 else 2].double().T for i in range(6)])
    want = torch.nn.functional.silu(sums[:, :20]) * sums[:, 20:]
    with enabled() as serving:
        by_kernels = _experts._by_kernels(x, ends, layer.codes_a8, layer.scales, None, layer.kind, 128, None, "swiglu", of_a)
        assert [str(problem) for problem in serving.problems()] == [
            f"{PAIRS[of_a, torch.bfloat16]} NT 6 40 128 batch=3 epilogue=scale_m+swiglu batch_mode=grouped weights=s4_g64"]
    for got in (by_kernels, layer(x, ends), tilesmith.torch.linear_experts(x, ends, w, None, "swiglu", of_a)):
        assert got.dtype == torch.bfloat16 and off(got, want) < 2**-7
    assert sorted(layer.state_dict()) == ["codes_a8", "scales"] and f"weights=s4_g64, activations={of_a}" in repr(layer)


def test_a_layer_of_no_rows(host):
    w, _ = some(16, 64, "s4_g32", torch.float16)
    assert _linear._by_kernels(torch.empty(0, 64).half(), w.codes, w.scales, None, w.text, 64, None, None, "e4m3").shape == (0, 16)


def test_layers_of_the_two_layouts_are_not_confused(real):
    dense = torch.nn.Linear(128, 48).bfloat16()
    one, other = Linear.from_linear(dense, "s4_g64"), Linear.from_linear(dense, "s4_g64", activations="e4m3")
    assert sorted(other.state_dict()) == ["bias", "codes_a8", "scales"]
    assert repr(other) == "Linear(in_features=128, out_features=48, weights=s4_g64, activations=e4m3, bias=True)"
    for to, state in ((one, other.state_dict()), (other, one.state_dict())):
        with pytest.raises(RuntimeError, match='Missing key.* "codes'):
            to.load_state_dict(state)
    file = io.BytesIO()
    torch.save(other.state_dict(), file)
    file.seek(0)
    again = Linear.from_linear(torch.nn.Linear(128, 48).bfloat16(), "s4_g64", activations="e4m3")
    again.load_state_dict(torch.load(file))
    integers = Linear.from_linear(torch.nn.Linear(128, 48).bfloat16(), "s4_g64", activations="s8")
    integers.load_state_dict(other.state_dict())  # the same codes
    x = torch.randn(3, 128).bfloat16()
    assert torch.equal(again(x), other(x)) and 0 < off(other(x), one(x)) < 0.08 and 0 < off(integers(x), one(x)) < 0.02
    assert torch.equal(integers(x), Linear.from_linear(dense, "s4_g64", activations="s8")(x))
    packed = tilesmith.torch.quantize(dense.weight, "s4_g64", "e4m3")
    assert packed.a_bits == 8
    for call, line in (
            (lambda: Linear(packed), "weights are packed for 8 bits; expected activations='e4m3' or 's8'"),
            (lambda: tilesmith.torch.linear(x, packed), "weights are packed for 8 bits; expected activations='e4m3' or 's8'"),
            (lambda: Linear(tilesmith.torch.quantize(dense.weight), activations="e4m3"), "weights are packed for 16 bits; expected some of dtype='e4m3' with activations='e4m3'"),
            (lambda: Linear(packed, activations="u8"), "activations is 'u8'; expected None, 'e4m3' or 's8'"),
            (lambda: Linear(tilesmith.torch.quantize(dense.weight), activations="s8"), "weights are packed for 16 bits; expected some of dtype='s8' with activations='s8'"),
            (lambda: tilesmith.torch.quantize(dense.weight, "s8_column", "s8"), "kind is 's8_column'; expected s4, u4 or e2m1 with activations='s8'"),
            (lambda: tilesmith.torch.quantize(dense.weight, "s8_column", "e4m3"), "kind is 's8_column'; expected s4, u4 or e2m1 with activations='e4m3'"),
            (lambda: tilesmith.torch.quantize_(torch.nn.Sequential(dense), "s4_g64", activations="u8"), "activations is 'u8'; expected None, 'e4m3' or 's8'"),
            (lambda: tilesmith.torch.quantize_(torch.nn.Sequential(dense), "nf4_g64", activations="e4m3"), "kind is 'nf4_g64'; expected s4, u4 or e2m1"),
            (lambda: tilesmith.torch.ExpertsLinear(tilesmith.torch.quantize(dense.weight[None], "s4_g64", "e4m3")), "weights are packed for 8 bits; expected activations='e4m3' or 's8'"),
            (lambda: tilesmith.torch.linear_experts(x, torch.tensor([3]), tilesmith.torch.quantize(dense.weight[None], "s4_g64", "e4m3")), "weights are packed for 8 bits")):
        with pytest.raises(ValueError, match=f"^{line}"):
            call()


@pytest.mark.parametrize("of_a, most", [("e4m3", 0.2), ("s8", 0.15)])
def test_a_model_is_rounded_for_activations_in_8_bits(real, of_a, most):
    torch.manual_seed(3)
    model = torch.nn.Sequential(torch.nn.Linear(128, 64), torch.nn.ReLU(), torch.nn.Linear(64, 32, bias=False)).bfloat16()
    x = torch.randn(5, 128).bfloat16()
    want = model(x)
    assert tilesmith.torch.quantize_(model, "u4_g32+zeros", activations=of_a) == ["0", "2"]
    assert all(model[i].activations == of_a and model[i].kind == "u4_g32+zeros" for i in (0, 2))
    assert off(model(x).detach(), want.detach()) < most


def test_scales_of_such_a_layer_that_the_kind_says_are_f32_stay_so(real):
    layer = Linear.from_linear(torch.nn.Linear(128, 48).bfloat16(), "u4_g64+zeros+f32", activations="e4m3")
    x, before = torch.randn(3, 128).bfloat16(), layer.scales.clone()
    want = layer(x)
    assert torch.equal(layer.half().scales, before) and layer.zeros.dtype == torch.float32
    assert off(layer(x.half()), want) < 2**-6


@pytest.mark.parametrize("method", ["gptq", "awq"])
@pytest.mark.parametrize("of_a, most", [("e4m3", 0.05), ("s8", 0.02)])
def test_layers_of_a_checkpoint_round_their_rows(real, method, of_a, most):
    state, dense = checkpoint(method)
    model, plain = Model().half(), Model().half()
    for to, activations in ((model, of_a), (plain, None)):
        assert tilesmith.torch.load_quantized_(to, [state], method, activations=activations) == NAMES
    for name in NAMES:
        layer, x = model.get_submodule(name), torch.randn(5, dense[name].shape[1]).half()
        assert layer.activations == of_a and layer.scales.dtype == torch.float16
        assert torch.equal(tilesmith.torch.dequantized(layer.codes_a8, layer.scales, layer.zeros, layer.kind, x.shape[1], activations=of_a), dense[name])
        off = layer(x).double() - plain.get_submodule(name)(x).double()
        assert 0 < off.norm() < most * layer(x).double().norm()
    model = Model().half()
    tilesmith.torch.load_quantized_(model, [state], method, dtype="f32", activations=of_a)
    assert model.get_submodule(NAMES[0]).kind.endswith("+f32")


def test_other_formats_have_no_rounded_rows():
    for method, bits, activations, line in (
            ("bnb", 4, "e4m3", "activations is 'e4m3'; expected None of 'bnb': 'gptq' and 'awq' in 4 bits may have it"),
            ("fp8", 4, "s8", "activations is 's8'; expected None of 'fp8': 'gptq' and 'awq' in 4 bits may have it"),
            ("gptq", 8, "s8", "activations is 's8'; expected None of 'gptq' in 8 bits: 'gptq' and 'awq' in 4 bits may have it"),
            ("gptq", 4, "u8", "activations is 'u8'; expected None, 'e4m3' or 's8'")):
        with pytest.raises(ValueError) as caught:
            tilesmith.torch.load_quantized_(Model().half(), {}, method, bits=bits, activations=activations)
        assert str(caught.value) == line
