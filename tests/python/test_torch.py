"""tilesmith.torch without a GPU: CPU tensors, a stand-in that multiplies them, and overrides at the CPU's key of the dispatcher."""

import pytest

torch = pytest.importorskip("torch")

import tilesmith
import tilesmith.torch
from tilesmith import _defaults
from tilesmith.torch import _enabled
from torch_host import host, same  # noqa: F401

NEWEST = hasattr(torch.library, "get_kernel")  # the out= forms are served too


def enabled(**how):
    return tilesmith.torch.enabled(_key="CPU", **how)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_products_are_served(host, dtype):
    def make(*shape):
        return torch.randn(*shape, dtype=dtype)

    a, b, c, row = make(5, 7), make(3, 7).t(), make(5, 3), make(3)
    x, y, z = make(4, 5, 7), make(4, 7, 3), make(4, 5, 3)
    calls = {
        "mm": lambda: a @ b,
        "bmm": lambda: x.transpose(1, 2).bmm(z),
        "addmm": lambda: torch.addmm(c, a, b, beta=0.5, alpha=2),
        "addmm, a vector": lambda: torch.addmm(row, a, b),
        "addmm, a row": lambda: torch.addmm(row[None], a, b),
        "addmm, an expanded vector": lambda: torch.addmm(row.expand(5, 3), a, b),
        "addmm, beta 0": lambda: torch.addmm(c * float("nan"), a, b, beta=0),
        "baddbmm": lambda: torch.baddbmm(z, x, y, alpha=0.5),
        "linear": lambda: torch.nn.functional.linear(x, b.t(), row),
    }
    wanted = {name: call() for name, call in calls.items()}
    for name, call in calls.items():
        with enabled() as serving:
            got = call()
        assert sum(serving.stats()["served"].values()) == 1, (name, serving.stats())
        assert not serving.stats()["forwarded"], name
        same(got, wanted[name])
        assert got.dtype == dtype and got.stride() == wanted[name].stride()
    runs = host.record.runs
    for call in calls.values():  # nothing is left behind
        call()
    assert host.record.runs == runs


def test_what_is_not_served_goes_to_pytorch_with_its_reason(host):
    a, b = torch.randn(5, 7), torch.randn(7, 3)
    calls = {
        "nothing to multiply": lambda: torch.randn(0, 7) @ b,
        "an element is of type torch.complex64; expected one of": lambda: torch.ones(2, 2, dtype=torch.complex64) @ torch.ones(2, 2, dtype=torch.complex64),
        "a and b are s64; expected one of f64": lambda: torch.ones(2, 2, dtype=torch.int64) @ torch.ones(2, 2, dtype=torch.int64),
        "expected rows or columns that are contiguous": lambda: a[:, ::2] @ b[::2, ::2],
        "what is added is broadcast": lambda: torch.addmm(torch.ones(5, 1), a, b),
        "what is added is broadcast, and": lambda: torch.addmm(torch.ones(3), a, b, beta=2),
        "c has strides (1, 5)": lambda: torch.addmm(torch.ones(3, 5).t(), a, b, beta=2),
    }
    wanted = {name: call() for name, call in calls.items()}
    for reason, call in calls.items():
        with enabled() as serving:
            got = call()
        reasons = [line for by_reason in serving.stats()["forwarded"].values() for line in by_reason]
        assert len(reasons) == 1 and reason in reasons[0] and not serving.stats()["served"]
        same(got, wanted[reason])


def test_levels_decide(host):
    import ctypes

    host.tell("level", b"generic", ctypes.c_char * 16)
    a, b = torch.randn(5, 7), torch.randn(7, 3)
    wanted = a @ b
    with enabled() as serving:
        for _ in range(2):
            same(a @ b, wanted)
    assert serving.stats() == {"served": {}, "forwarded": {"mm": {"its kernel is of the level generic": 2}}}
    assert host.record.plans == 0
    with enabled(levels=["generic"]) as serving:
        a @ b
    assert serving.stats()["served"] == {"mm": 1}
    with pytest.raises(ValueError, match="levels are .*; expected some of 'exact'"):
        with enabled(levels=["best"]):
            pass


def test_what_the_vendor_does_faster_stays_pytorchs(host):
    import ctypes

    for n, (vendor_us, served) in enumerate(((12.4, False), (12.5, False), (12.6, True)), 3):  # the stand-in's own time is 12.5
        a, b = torch.randn(5, 7), torch.randn(7, n)
        host.tell("vendor_us", vendor_us, ctypes.c_double)
        with enabled() as serving:
            a @ b
        forwarded = {} if served else {"mm": {"cuBLASLt was as fast or faster": 1}}
        assert serving.stats() == {"served": {"mm": 1} if served else {}, "forwarded": forwarded}


def test_a_failing_run_goes_to_pytorch(host):
    a, b = torch.randn(5, 7), torch.randn(7, 3)
    wanted = a @ b
    host.tell("runs_status", 7)
    with enabled() as serving:
        same(a @ b, wanted)
    assert serving.stats()["forwarded"] == {"mm": {"the stand-in was told to fail every run": 1}}
    host.tell("runs_status", 0)


def test_a_library_that_is_missing_goes_to_pytorch(host):
    host.tell("no_device", 1)
    a, b = torch.randn(5, 7), torch.randn(7, 3)
    wanted = a @ b
    with enabled() as serving:
        same(a @ b, wanted)
    assert serving.stats()["forwarded"] == {"mm": {"no NVIDIA driver": 1}}


def test_workspaces_are_pytorchs_and_aligned(host):
    with enabled():
        torch.randn(5, 7) @ torch.randn(7, 3)
    assert host.record.args.workspace and host.record.args.workspace % 256 == 0


@pytest.mark.skipif(not NEWEST, reason="before torch.library.get_kernel the functional forms alone are served")
def test_out_forms_are_served(host):
    a, b, out = torch.randn(5, 7), torch.randn(7, 3), torch.empty(5, 3)
    with enabled() as serving:
        assert torch.mm(a, b, out=out) is out
        c = torch.randn(5, 3)
        before = c.clone()
        torch.addmm(c, a, b, beta=2, out=c)
    assert serving.stats()["served"] == {"mm": 1, "addmm": 1}
    same(out, a @ b)
    same(c, 2 * before + a @ b)


def test_gradients_are_pytorchs_and_served(host):
    layer = torch.nn.Sequential(torch.nn.Linear(7, 16), torch.nn.GELU(), torch.nn.Linear(16, 3))
    x = torch.randn(5, 7, requires_grad=True)

    def gradients():
        return torch.autograd.grad(layer(x).square().sum(), [x, *layer.parameters()])

    wanted = gradients()
    with enabled() as serving:
        got = gradients()
    for one, other in zip(got, wanted):
        same(one, other)
    assert serving.stats()["served"]["addmm"] == 2 and serving.stats()["served"]["mm"] == 4 and not serving.stats()["forwarded"]


def test_inference_mode_and_threads_are_served(host):
    import threading

    a, b = torch.randn(5, 7), torch.randn(7, 3)
    with enabled() as serving:
        with torch.inference_mode():
            a @ b
        threads = [threading.Thread(target=lambda: [a @ b for _ in range(20)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert host.record.runs == 81 and len(serving.problems()) == 1


def test_one_at_a_time(host):
    with enabled():
        with pytest.raises(RuntimeError, match="active already; expected one at a time"):
            with enabled():
                pass
    assert not _enabled._active
    with enabled() as serving:
        torch.randn(5, 7) @ torch.randn(7, 3)
    assert serving.stats()["served"] == {"mm": 1}


def test_problems_are_a_workload(host):
    a, b = torch.randn(5, 7), torch.randn(3, 7)
    with enabled():
        for _ in range(3):
            torch.nn.functional.linear(a, b)
        torch.addmm(torch.randn(3), a, b.t())
        a[:, ::2] @ b[:, ::2].t()
    from tilesmith._program import workload_text

    lines = workload_text(tilesmith.torch.problems()).splitlines()
    assert sorted(lines) == ["f32f32 NT 5 3 7 3", "f32f32 NT 5 3 7 epilogue=bias_n 1", "weights calls"]


def test_tf32_follows_pytorchs_setting(host):
    a, b = torch.randn(5, 7), torch.randn(7, 3)
    before = torch.backends.cuda.matmul.allow_tf32
    try:
        for allow, pair in ((True, b"tf32f32"), (False, b"f32f32")):
            torch.backends.cuda.matmul.allow_tf32 = allow
            with enabled():
                a @ b
            assert host.problem.type == pair
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


def test_integers_and_8_bit_floats(host):
    a, b = torch.randint(-5, 5, (17, 8), dtype=torch.int8), torch.randint(-5, 5, (8, 16), dtype=torch.int8)
    wanted = a.int() @ b.int()
    with enabled() as serving:
        if torch._C._dispatch_has_kernel_for_dispatch_key("aten::_int_mm", "CPU"):
            assert torch.equal(torch._int_mm(a, b), wanted)
            assert serving.stats()["served"] == {"_int_mm": 1}
    from tilesmith.torch import _aten

    serving = tilesmith.torch.Serving()
    x, w = torch.zeros(16, 32, dtype=torch.float8_e4m3fn), torch.zeros(48, 32, dtype=torch.float8_e4m3fn).t()
    one, rows, columns = torch.ones(()), torch.ones(16, 1), torch.ones(1, 48)
    out = _aten.scaled_mm(serving, x, w, one, one, out_dtype=torch.bfloat16, bias=torch.ones(48, dtype=torch.bfloat16))
    assert out.dtype == torch.bfloat16 and host.problem.type == b"e4m3f32bf16" and host.problem.transposes == b"NT"
    assert (host.problem.scale_m, host.problem.scale_n, host.problem.bias) == (1, 1, 1)
    assert _aten.scaled_mm(serving, x, w, rows, columns, out_dtype=torch.float32).dtype == torch.float32
    assert (host.problem.scale_m, host.problem.scale_n, host.problem.type) == (2, 2, b"e4m3f32")
    assert _aten.scaled_mm(serving, x, w, rows, one) is None
    assert _aten.scaled_mm(serving, x, w, one, one, scale_result=one) is None
    assert len(serving.stats()["forwarded"]["_scaled_mm"]) == 2


def test_groups_of_rows(host):
    from tilesmith.torch import _aten

    serving = tilesmith.torch.Serving()
    a, b = torch.randn(9, 8, dtype=torch.bfloat16), torch.randn(3, 4, 8, dtype=torch.bfloat16).transpose(1, 2)
    ends = torch.tensor([2, 2, 9], dtype=torch.int32)
    out = _aten.grouped_mm(serving, a, b, ends)
    same(out[:2], a[:2] @ b[0])
    same(out[2:], a[2:] @ b[2])
    assert host.problem.transposes == b"NT"
    assert _aten.grouped_mm(serving, a, b, ends, bias=torch.ones(4)) is None
    assert _aten.grouped_mm(serving, a.t(), a, ends) is None
    assert _aten.grouped_mm(serving, a.expand(3, 9, 8), b).shape == (3, 9, 4)


def test_a_choice_for_inductor(host):
    a, b, out = torch.randn(5, 7), torch.randn(7, 3), torch.empty(5, 3)
    tilesmith.torch.external_matmul(a, b, out)
    same(out, a @ b)
    assert host.record.runs == 1
    host.tell("runs_status", 7)
    out.zero_()
    tilesmith.torch.external_matmul(a, b, out)
    same(out, a @ b)


def test_the_default_library_stays_open_when_it_is_replaced(host):
    a, b = torch.randn(5, 7), torch.randn(7, 3)
    tilesmith.gemm(a, b)
    former = _defaults.default_library(0)
    tilesmith.set_default(tilesmith.open())
    assert former._handle is not None and _defaults.default_library(0) is not former


def test_what_is_known_beforehand_is_prepared_before_anything_runs(host):
    problem = tilesmith.Problem("f32f32", "NN", 4, 4, 4)
    with enabled(prepare=[problem]):
        assert host.record.prepared == 1
    host.tell("next_status", 4)
    with pytest.warns(UserWarning, match=r"enabled\(prepare=...\): the stand-in was told to fail"), enabled(prepare=[problem]):
        pass
