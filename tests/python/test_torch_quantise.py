"""tilesmith.quantise: 8-bit elements and their scales, by PyTorch's operators on the CPU. The stand-in records what the kernel would be given."""

import ctypes
import json
import re
import warnings

import pytest

torch = pytest.importorskip("torch")

import tilesmith
from test_kernel import buffers, sizes
from tilesmith import _quantise
from torch_host import host  # noqa: F401

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("type, highest", [("e4m3", 448), ("s8", 127)])
@pytest.mark.parametrize("m, k, block", [(5, 300, None), (5, 300, 128), (1, 128, 128), (3, 7, 128), (0, 300, 128), (4, 0, 128), (4, 0, None), (3, 1, None)])
def test_elements_times_scales_are_the_matrix(dtype, type, highest, m, k, block):
    torch.manual_seed(0)
    x = (torch.randn(k, m).t() * 10).to(dtype)
    q, scales = tilesmith.quantise(x, type, block)
    assert q.dtype == (torch.float8_e4m3fn if type == "e4m3" else torch.int8) and q.shape == (m, k) and q.is_contiguous() and scales.dtype == torch.float32
    if block is None:
        assert scales.shape == (m,)
        each = scales[:, None].expand(m, k)
    else:
        assert scales.shape == (m, -(-k // 128)) and scales.t().is_contiguous()
        each = scales.repeat_interleave(128, 1)[:, :k]
    if k == 0:
        assert block or bool((scales == 1).all())
        return
    for row in range(m):
        for first in range(0, k, block or k):
            part = x[row, first:first + (block or k)].float()
            torch.testing.assert_close(each[row, first], part.abs().max() / highest, rtol=1e-6, atol=0)
            assert q[row, first:first + (block or k)].float().abs().max() == highest
    off = (q.float() * each - x.float()).abs()
    assert (off <= (each * 0.5001 if type == "s8" else torch.maximum(x.float().abs() * 2**-4 * 1.0001, each * 2**-10 * 1.0001))).all()


@pytest.mark.parametrize("type", ["e4m3", "s8"])
@pytest.mark.parametrize("block", [None, 128])
def test_scales_may_be_the_next_powers_of_two(type, block):
    x = torch.randn(40, 300) * torch.logspace(-30, 30, 40)[:, None]
    x[0] = 0
    x[1, :] = 448 if type == "e4m3" else 127  # whose scale is one
    scales = tilesmith.quantise(x, type, block)[1]
    q, powers = tilesmith.quantise(x, type, block, powers_of_two=True)
    assert (powers.log2() % 1 == 0).all() and (powers >= scales).all() and (powers < 2 * scales).all() and (powers[:2] == 1).all()
    each = powers.repeat_interleave(128, 1)[:, :300] if block else powers[:, None]
    torch.testing.assert_close(q.float(), (x / each).to(torch.float8_e4m3fn).float() if type == "e4m3" else (x / each).round(), rtol=0, atol=0)
    infinite = tilesmith.quantise(torch.tensor([[INF, 1.0], [1e-44, 0.0]]), type, powers_of_two=True)[1]
    assert infinite.tolist() == [INF, 1.0]  # the quotient of 1e-44 is zero


def test_ties_go_to_even():
    q, scales = tilesmith.quantise(torch.tensor([[127, 0.5, 1.5, 2.5, -0.5, -1.5]]), "s8")
    assert scales.tolist() == [1] and q.tolist() == [[127, 0, 2, 2, 0, -2]]
    q, scales = tilesmith.quantise(torch.tensor([[448, 17, 19, 21, -17, 2**-10, 3 * 2**-10]]), "e4m3")  # 16, 18, 20 and 22 are elements, and multiples of 2^-9
    assert scales.tolist() == [1] and q.float().tolist() == [[448, 16, 20, 20, -16, 0, 2**-8]]


@pytest.mark.parametrize("type", ["e4m3", "s8"])
@pytest.mark.parametrize("block", [None, 128])
def test_zeros_have_the_scale_1_and_tiny_numbers_stay_in_range(type, block):
    x = torch.zeros(3, 200)
    x[1, 150] = 1e-44  # its scale is not even a subnormal
    x[2, :3] = torch.tensor([1e-40, -3e-41, 0])
    q, scales = tilesmith.quantise(x, type, block)
    assert (scales > 0).all() and (scales[0] == 1).all() and (q[:2].float() == 0).all() and q[2].float().abs().max() <= (448 if type == "e4m3" else 127)
    assert torch.isfinite(q.float()).all() and q[2].float()[0] > 0


def test_what_is_no_number_stays_in_its_row_or_block():
    x = torch.ones(4, 256)
    x[0, 3], x[1, 3], x[2, 3] = NAN, INF, -INF
    for block in (None, 128):
        q, scales = tilesmith.quantise(x, "e4m3", block)
        each = scales[:, None].expand(4, 256) if block is None else scales.repeat_interleave(128, 1)
        got = q.float() * each
        assert got[0].isnan().nonzero().tolist() == [[3]]
        assert got[1:3, : block or 256].isnan().all() and (block is None or (got[:3, 128:] == 1).all()) and (got[3] == 1).all()
        q, scales = tilesmith.quantise(x, "s8", block)
        got = q.float() * (scales[:, None].expand(4, 256) if block is None else scales.repeat_interleave(128, 1))
        assert got[:3, : block or 256].isnan().all() and (block is None or (got[:3, 128:] == 1).all()) and (got[3] == 1).all()
    q, scales = tilesmith.quantise(torch.full((1, 4), NAN), "e4m3")
    assert q.float().isnan().all() and scales.tolist() == [1]


def test_wrong_inputs_are_told():
    x = torch.ones(2, 128)
    for wrong, words in (((x, "f16"), "^type is 'f16'; expected 'e4m3' or 's8'$"), ((x, "e4m3", 64), "^block is 64; expected None or 128$"),
                         ((x[0], "e4m3"), "^x is 128 of torch.float32; expected m x k of float16, bfloat16 or float32$"),
                         ((x.double(), "s8"), "^x is 2x128 of torch.float64; expected m x k")):
        with pytest.raises(ValueError, match=words):
            tilesmith.quantise(*wrong)
    with pytest.raises(TypeError, match="^x is a builtins.list; expected a tensor of PyTorch$"):
        tilesmith.quantise([[1.0]], "e4m3")


def test_it_has_no_gradient_and_leaves_x_as_it_is():
    x = torch.randn(3, 130, requires_grad=True)
    before = x.detach().clone()
    q, scales = tilesmith.quantise(x, "e4m3", block=128)
    assert not q.requires_grad and not scales.requires_grad and torch.equal(x, before)


@pytest.fixture
def device(host, monkeypatch):
    """Host tensors are taken for a device's, and no kernel is open."""
    for name in ("_kernels", "_launches"):
        monkeypatch.setattr(_quantise, name, {})
    monkeypatch.setattr(_quantise, "_refused", set())
    yield host
    for kernel in _quantise._kernels.values():
        kernel.close()


def launched(host, x, type, block=None, powers=False):
    runs = host.record.runs
    q, scales = _quantise.by_kernel(torch, x, type, block, powers)
    assert host.record.runs == runs + 1 and q.shape == x.shape and q.is_contiguous() and scales.dtype == torch.float32
    found = buffers(host, 5)
    assert found[:2] == [q.data_ptr(), scales.data_ptr()]
    assert scales.shape == ((x.shape[0],) if block is None else (x.shape[0], -(-x.shape[1] // 128))) and (block is None or scales.t().is_contiguous())
    given = [at for at in found[2:] if at != scales.data_ptr()]
    assert len(given) == 1 and found.index(given[0], 2) == 2 + (torch.float16, torch.bfloat16, torch.float32).index(x.dtype)
    return sizes(host), given[0]


def test_the_kernel_gets_the_tensor_and_its_layout(device):
    x = torch.zeros(6, 400).bfloat16()
    assert launched(device, x, "e4m3") == ("rows=6 cols=400 step=400 block=400 input=2 highest=448 scaling=1", x.data_ptr())
    assert launched(device, x, "s8", 128) == ("rows=6 cols=400 step=400 block=128 input=2 highest=127 scaling=1", x.data_ptr())
    part = x[1:4, 16:216]
    assert launched(device, part, "s8") == ("rows=3 cols=200 step=400 block=200 input=2 highest=127 scaling=1", part.data_ptr())
    assert launched(device, part[:1], "s8") == ("rows=1 cols=200 step=200 block=200 input=2 highest=127 scaling=1", part.data_ptr())
    assert launched(device, part.float(), "e4m3")[0] == "rows=3 cols=200 step=200 block=200 input=3 highest=448 scaling=1"
    for other in (x[:, 1:201], x.t(), x[:1].expand(3, 400), x[:, ::2]):  # what it does not read as it lies
        rows, cols = other.shape
        sized, at = launched(device, other.half(), "e4m3")
        assert sized == f"rows={rows} cols={cols} step={cols} block={cols} input=1 highest=448 scaling=1"
        assert launched(device, other, "e4m3")[1] != other.data_ptr() and at % 16 == 0
    assert launched(device, x, "e4m3", 128, True)[0] == "rows=6 cols=400 step=400 block=128 input=2 highest=448 scaling=2"
    runs = device.record.runs
    launched(device, x, "e4m3")  # known
    assert device.record.runs == runs + 1 and list(_quantise._kernels) == [tilesmith.default_library(0)]


def test_what_the_kernel_cannot_do_pytorch_does(device):
    tilesmith.default_library(0)
    with pytest.warns(UserWarning, match="^tilesmith.quantise by PyTorch's operators from now on: the stand-in was told to fail$") as told:
        device.tell("next_status", 1)
        assert _quantise.by_kernel(torch, torch.ones(2, 128), "e4m3", None, False) is None
    runs = device.record.runs
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert _quantise.by_kernel(torch, torch.ones(3, 128), "e4m3", None, False) is None
    assert device.record.runs == runs and len(told) == 1


def test_while_a_stream_is_captured_no_kernel_is_planned(device, monkeypatch):
    x, y = torch.ones(2, 128), torch.ones(3, 128)
    launched(device, x, "e4m3")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
    assert _quantise.by_kernel(torch, y, "e4m3", None, False) is None
    launched(device, x, "e4m3")


def test_the_kernel_is_declared_as_it_is_called(real):
    definition = json.loads((_quantise.FOLDER / "kernel.json").read_text())
    assert list(definition["sizes"]) == ["rows", "cols", "step", "block", "input", "highest", "scaling"]
    named = [next(iter(argument)) for argument in definition["arguments"]]
    assert named[:5] == ["elements", "scales", "f16", "bf16", "f32"] and named[5:] == list(definition["sizes"])
    source = (_quantise.FOLDER / definition["source"]).read_text()
    assert re.search(r"template <int (.*)>\n__global__ .*\s+quantise\(", source)[1].replace("int ", "") == definition["entry"][len("quantise<"):-1]
