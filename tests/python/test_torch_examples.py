"""The examples of PyTorch models on the CPU: tiny models, a stand-in that multiplies, and a program that only starts what it is given."""

import importlib
import math
import os
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

from conftest import ROOT
from torch_host import host  # noqa: F401

FOLDER = ROOT / "examples" / "python"
sys.path.insert(0, str(FOLDER))
MODELS = ("torch_llama", "torch_bert")


def example(name, *arguments, **env):
    return subprocess.run([sys.executable, str(FOLDER / f"{name}.py"), *arguments], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(ROOT / "python"), "PYTHONDONTWRITEBYTECODE": "1", **env})


def run_here(name, monkeypatch, *arguments, dry_run=True):
    """As the script does, in this process, where host tensors count as a device's."""
    side_by_side, model = importlib.import_module("side_by_side"), importlib.import_module(name)
    monkeypatch.setattr(sys, "argv", [f"{name}.py", *(["--dry-run"] if dry_run else []), "--calls", "1", *arguments])
    side_by_side.main(model.make_parser(), "{device}", model.make_cases)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_before_and_after_in_one_process(name, host, monkeypatch, capsys, tmp_path):
    run_here(name, monkeypatch, "--svg", str(tmp_path / "x.svg"), "--csv", str(tmp_path / "x.csv"))
    out = capsys.readouterr().out
    assert "WRONG" not in out and "geometric mean" in out and "'served': {'" in out and "'forwarded': {}" in out
    assert host.record.runs > 0
    drawn = (tmp_path / "x.svg").read_text(encoding="utf-8")
    assert drawn.count("<rect") == 1 + 2 + 2 * 2 and drawn.startswith("<svg ") and drawn.endswith("</svg>\n")
    assert (tmp_path / "x.csv").read_text().startswith("case,before_us,after_us\n")


def test_a_model_beside_itself_with_weights_in_4_bits(real):
    done = example("torch_llama", "--dry-run", "--calls", "1", "--weights", "s4_g128")
    assert done.returncode == 0, done.stderr
    assert "WRONG" not in done.stdout and "geometric mean" in done.stdout
    assert "expected neither --shim nor --plain" in example("torch_llama", "--dry-run", "--weights", "s4_g128", "--plain").stderr


def test_models_of_several_kinds_of_weights(real, tmp_path):
    done = example("torch_quantised", "--dry-run", "--calls", "1", "--svg", str(tmp_path / "x.svg"), OMP_NUM_THREADS="1")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 2 * 2 * 5 + 1 and "WRONG" not in done.stdout and lines[-1].startswith("a pass of each case: {'served'")
    for case in range(4):
        plain, served, w4a16, w4a8, fp8 = (float(line.split()[-1]) for line in lines[5 * case : 5 * case + 5])
        assert 0 < plain == served < fp8 < min(w4a16, w4a8)
    assert (tmp_path / "x.svg").read_text(encoding="utf-8").count('height="13"') == 20


def test_experts_compute_what_each_token_would_alone():
    of = importlib.import_module("torch_quantised")
    torch.manual_seed(0)
    feed = of.Experts(16, 5, 8, 2).double()
    for weight in feed.parameters():
        weight.data.normal_()
    y = torch.randn(2, 3, 16).double()
    with torch.no_grad():
        for token, got in zip(y.view(6, 16), feed(y).view(6, 16)):
            share, chosen = feed.router(token).float().softmax(-1).topk(2)
            outs = [feed.down.weight[e] @ of.gated(feed.gate_up.weight[e] @ token, 8) for e in chosen]
            torch.testing.assert_close(got, sum(s * out for s, out in zip((share / share.sum()).double(), outs)))


@pytest.mark.parametrize("arguments, message", [
    (["--mixture", "2048x64x768x65"], "--mixture 2048x64x768x65: expected HxExIxK, H a multiple of 512, I of 128, and K of 1 to E"),
    (["--hidden", "100"], "--calls 20 --layers 4 --hidden 100: expected a call, a layer, and a multiple of 512"),
    (["--dry-run", "--cases", "decode:1"], "--cases decode:1: expected prefill:BxT or decode:BxC, two numbers"),
])
def test_wrong_options_of_kinds_are_one_line(real, arguments, message, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["torch_quantised.py", *arguments])
    with pytest.raises(SystemExit) as ended:
        importlib.import_module("torch_quantised").main()
    assert str(ended.value) == f"torch_quantised.py: {message}"


@pytest.mark.parametrize("name", MODELS)
def test_wrong_results_are_found(name, host, monkeypatch, capsys):
    from tilesmith.torch import _serving

    product = _serving.Serving.product

    def spoilt(self, *given, **named):
        out = product(self, *given, **named)
        return None if out is None else out.mul_(1.02)

    monkeypatch.setattr(_serving.Serving, "product", spoilt)
    with pytest.raises(SystemExit, match="further from the wider model than PyTorch's own results"):
        run_here(name, monkeypatch)
    assert "WRONG" in capsys.readouterr().out


def starter(tmp_path):
    """A program tilesmith that notes its arguments and starts what stands behind --."""
    program = tmp_path / "tilesmith"
    program.write_text(f'#!/bin/sh\necho "$*" >>\'{tmp_path}/calls\'\n[ "$1" = tune ] && exit "${{TUNE_STATUS:-0}}"\n'
                       '[ "$FAIL" = "$1" ] && { echo "no shim" >&2; exit 2; }\n'
                       'while [ "$1" != -- ]; do shift; done\nshift\nexec "$@"\n')
    program.chmod(0o755)
    return str(program)


def test_a_model_before_and_after_under_the_shim(tmp_path):
    done = example("torch_llama", "--dry-run", "--calls", "1", "--shim", "app.db", "--tune", "5s", "--svg", str(tmp_path / "x.svg"),
                   TILESMITH_PROGRAM=starter(tmp_path))
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 4 and "WRONG" not in done.stdout
    calls = [line.split() for line in (tmp_path / "calls").read_text().splitlines()]
    assert [call[0] for call in calls] == ["capture", "tune", "run"]
    assert calls[0][1] == "-o" and calls[1][1:3] == ["--workload", calls[0][2]] and calls[1][3:] == ["--db", "app.db", "--budget", "5s"]
    assert calls[2][1:4] == ["--db", "app.db", "--"] and calls[2][-1] == "--answer"
    assert (tmp_path / "x.svg").exists()


def test_a_side_that_ends_is_told(host, monkeypatch, tmp_path, capfd):
    monkeypatch.setenv("TILESMITH_PROGRAM", starter(tmp_path))
    monkeypatch.setenv("FAIL", "capture")
    with pytest.raises(SystemExit, match=r"capture -o .* ended with status 2 \(its message stands above\)$"):
        run_here("torch_llama", monkeypatch, "--shim", "app.db", "--tune", "5s")
    assert capfd.readouterr().err == "no shim\n"


def test_a_model_is_timed_as_it_is():
    done = example("torch_llama", "--dry-run", "--plain", "--calls", "1", PYTHONPATH="")  # without Tilesmith
    assert done.returncode == 0 and [line.split(",")[0] for line in done.stdout.splitlines()] == ["prefill 2x5", "decode 2x9"]


@pytest.mark.parametrize("name, arguments, message", [
    ("torch_llama", ["--cases", "prefill:0x4"], "--cases prefill:0x4: expected prefill:BxT or decode:BxC, two numbers"),
    ("torch_llama", ["--hidden", "100"], "--layers 4 --hidden 100: expected a layer, and a multiple of 512"),
    ("torch_llama", ["--calls", "0"], "--calls 0: expected 1 or more"),
    ("torch_bert", ["--cases", "f64:1x1"], "--cases f64:1x1: expected f16:BxT, bf16:BxT or f32:BxT, two numbers"),
])
def test_wrong_options_are_one_line(name, arguments, message, monkeypatch):
    with pytest.raises(SystemExit) as ended:
        run_here(name, monkeypatch, "--plain", *arguments)
    assert str(ended.value) == f"{name}.py: {message}"


@pytest.mark.parametrize("name", MODELS)
def test_without_a_gpu_a_model_says_so(name, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(SystemExit, match=f"^{name}.py: PyTorch sees no GPU; expected a CUDA device and a PyTorch that is built for it, or --dry-run$"):
        run_here(name, monkeypatch, dry_run=False)


def test_decoding_gives_what_prefilling_gives():
    """The last token by its keys and values, and by all tokens anew."""
    llama = importlib.import_module("torch_llama")
    torch.manual_seed(0)
    model = llama.Llama(llama.Sizes(3, 64, 8, 97)).double().eval()
    words = torch.randint(0, 97, (2, 7))
    kept = []
    with torch.no_grad():
        for layer in model.layers:
            layer.qkv.register_forward_hook(lambda module, given, qkv: kept.append(qkv))
        logits, states = model(words)
        past = []
        for qkv in kept:
            q, k, v = qkv.view(2, 7, 12, 8).transpose(1, 2).split([8, 2, 2], dim=1)
            k = llama.rotate(k, model._turn(torch.arange(7)))
            past.append((k[:, :, :].clone(), v.clone()))
            past[-1][0][:, :, -1], past[-1][1][:, :, -1] = math.nan, math.nan  # this token's own are made by decoding
        for layer in model.layers:
            layer.qkv._forward_hooks.clear()
        got, state = model(words[:, -1:], past)
    torch.testing.assert_close(got, logits)
    torch.testing.assert_close(state[:, 0], states[:, -1])
