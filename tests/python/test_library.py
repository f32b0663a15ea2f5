"""Libraries, plans, problems, DLPack, the databases that are opened by default, and tuning by the program."""

import ctypes
import os
import stat

import pytest

import tilesmith
from arrays import Array, Capsule, product, whole_numbers
from tilesmith import _defaults, _program


def operands():
    return Array((5, 6), values=whole_numbers(1)), Array((6, 3), values=whole_numbers(2)), Array((5, 3))


def test_options_reach_the_library(stand_in, tmp_path):
    with tilesmith.open(tmp_path / "x.db", 2, allow_compile=False, trial_budget=8, early_in_graphs=True) as library:
        options = stand_in.record.options
        assert (options.device, options.allow_compile, options.log_misses, options.trial_budget, options.early_in_graphs) == (2, 0, 0, 8, 1)
        assert stand_in.record.path.decode() == str(tmp_path / "x.db") and library.ordinal == 2
        assert stand_in.record.opened == 1
    assert stand_in.record.opened == 0


def test_plans_explain_and_run(library, stand_in):
    a, b, d = operands()
    with library.plan(a, b, d, activation="relu") as plan:
        assert stand_in.record.plans == 1
        assert plan.workspace_bytes == 512
        plan.reserve_workspace()
        assert plan.explain().level == "exact" and "12.50 us" in str(plan.explain())
        assert plan.run(a, b, d, activation="relu", alpha=2) is d
        assert d[0, 0] == max(2 * product(a, b, 0, 0), 0)
        plan.run(a, b, d, activation="relu", workspace=4096)
        assert stand_in.record.args.workspace == 4096
        with pytest.raises(ValueError, match=r"the operands are of f32f32 NN 5 3 6; expected f32f32 NN 5 3 6 epilogue=relu, of the plan"):
            plan.run(a, b, d)
    assert stand_in.record.plans == 0
    with pytest.raises(tilesmith.Error, match="the plan is closed"):
        plan.explain()
    assert library.explain(tilesmith.Problem("f32f32", "NT", 8, 8, 8)).config == "simt{}"
    assert stand_in.record.plans == 0


def test_libraries_and_plans_end_alike(library, stand_in):
    problem = tilesmith.Problem("f32f32", "NN", 8, 8, 8)
    makers = {"library": (tilesmith.open, "opened"), "plan": (lambda: library.plan(problem), "plans")}
    for kind, (make, counter) in makers.items():
        before = getattr(stand_in.record, counter)
        with make() as made:
            assert getattr(stand_in.record, counter) == before + 1 and not made.closed and made.handle
        made.close()  # nothing is destroyed twice
        assert getattr(stand_in.record, counter) == before and made.closed
        with pytest.raises(tilesmith.Error, match=f"^the {kind} is closed; expected an open one$"):
            made.handle
        made = make()
        del made
        assert getattr(stand_in.record, counter) == before
        stand_in.tell("next_status", 4)
        with pytest.raises(tilesmith.Error):  # what was never made is not destroyed
            make()
        stand_in.tell("next_status", 0)
        assert getattr(stand_in.record, counter) == before


def test_prepare_takes_what_gemm_takes(library, stand_in):
    a, b, d = operands()
    library.prepare(a, b, d, bias=Array((3,)), stream=9)
    assert (stand_in.record.prepared, stand_in.record.runs, stand_in.record.stream, stand_in.problem.bias) == (1, 0, 9, 1)


@pytest.mark.parametrize("fields, text", [
    (dict(), ""),
    (dict(lda=40, ldc=70, align_bytes=8, beta=True), " lda=40 ldc=70 align=8 beta=any"),
    (dict(batch=3, stride_a=0), " batch=3 stride_a=0 batch_mode=strided"),
    (dict(groups=4), " batch=4 batch_mode=grouped"),
    (dict(scale_m="one", scale_n="each", bias="n_f32", activation="gelu_tanh"), " epilogue=scale_m1+scale_n+bias_n_f32+gelu_tanh"),
    (dict(c_is_apart=True, beta=True, device_scalars=True), " beta=any epilogue=c_apart scalars=device"),
])
def test_problems_are_lines_of_a_workload(stand_in, fields, text):
    problem = tilesmith.Problem("f16f32f16", "NT", 64, 64, 32, **fields)
    assert str(problem) == "f16f32f16 NT 64 64 32" + text
    assert problem == tilesmith.Problem("f16f32f16", "NT", 64, 64, 32, **fields) and len({problem, problem}) == 1


def test_scales_of_blocks_are_part_of_a_problem(stand_in):
    problem = tilesmith.Problem("e4m3f32bf16", "NT", 64, 256, 300, scale_m="1x128", scale_n="128x128")
    assert str(problem) == "e4m3f32bf16 NT 64 256 300 epilogue=scale_m_1x128+scale_n_128x128"


def test_problems_that_mean_the_same_product_are_equal(stand_in):
    one = tilesmith.Problem("f16f32f16", "NT", 1, 64, 32)
    for length in (33, 147200, 2**40):
        again = tilesmith.Problem("f16f32f16", "NT", 1, 64, 32, lda=length, ldc=length + 64)
        assert again == one and len({again, one}) == 1 and str(again) == "f16f32f16 NT 1 64 32"
    assert tilesmith.Problem("f16f32f16", "NT", 2, 64, 32, lda=33) != tilesmith.Problem("f16f32f16", "NT", 2, 64, 32)


def test_a_problem_that_the_library_refuses_says_why(stand_in):
    problem = tilesmith.Problem("f64f64", "NT", 4, 64, 32, bias="n_f32")
    assert problem.is_refused and "expected a bias of D's type" in repr(problem)
    assert problem == tilesmith.Problem("f64f64", "NT", 4, 64, 32, bias="n_f32") != tilesmith.Problem("f64f64", "NT", 4, 64, 32)
    with pytest.raises(tilesmith.Error, match="epilogue is bias_n_f32: expected a bias of D's type"):
        str(problem)


def test_wrong_problems_are_refused(stand_in):
    with pytest.raises(ValueError, match="a batch and groups or weights are given"):
        tilesmith.Problem("f16f32", "NN", 1, 1, 1, batch=2, groups=2)
    with pytest.raises(ValueError, match="bias is 'k'; expected None, 'n', 'm'"):
        tilesmith.Problem("f16f32", "NN", 1, 1, 1, bias="k")
    with pytest.raises(ValueError, match="type is 'a type pair with a long name'; expected a text such as 'f16f32f16'"):
        tilesmith.Problem("a type pair with a long name", "NN", 1, 1, 1)
    refused = tilesmith.Problem("f16f32", "NN", -1, 1, 1)
    assert refused.is_refused
    with pytest.raises(tilesmith.Error, match="M is -1: expected 0 to"):
        refused.text()


def test_dlpack_producers_are_operands(library, stand_in):
    a, b, d = operands()
    given = Capsule(a), Capsule(b, offset=16), Capsule(d)
    library.gemm(*given)
    assert d[4, 2] == product(a, b, 4, 2)
    assert [producer.streams for producer in given] == [[1], [1], [1]]
    library.gemm(*given, stream=77)
    assert given[0].streams[-1] == 77 and stand_in.record.stream == 77
    library.gemm(Capsule(a, name=b"dltensor_versioned"), b, d)
    for code, bits, pair in ((4, 16, b"bf16f32bf16"), (2, 16, b"f16f32f16"), (10, 8, b"e4m3f32e4m3")):
        half = [Capsule(array, code, bits) for array in (a, b, d)]
        assert library.problem(*half).c.type == pair


def test_wrong_capsules_are_refused(library):
    a, b, d = operands()
    with pytest.raises(ValueError, match=r"^a: an array is on DLPack device \(1, 0\); expected a CUDA device \(2\), not the CPU \(1\)$"):
        library.gemm(Capsule(a, device=1), b, d)
    with pytest.raises(ValueError, match="^b: an array is on DLPack device"):
        library.gemm(Capsule(a), Capsule(b, device=1), d)
    with pytest.raises(ValueError, match="^bias: an array is on DLPack device"):
        library.gemm(a, b, d, bias=Capsule(b, device=1))
    with pytest.raises(ValueError, match="a DLPack capsule is named b'used_dltensor'; expected one that nobody has consumed"):
        library.gemm(Capsule(a, name=b"used_dltensor"), b, d)
    with pytest.raises(TypeError, match="an element is of type an unknown code; expected one of f64"):
        library.gemm(Capsule(a, code=5), b, d)
    with pytest.raises(ValueError, match="out is read-only"):
        library.gemm(a, b, Capsule(d, name=b"dltensor_versioned"))


def test_operands_of_another_device_are_refused(stand_in):
    a, b, d = operands()
    with tilesmith.open(device=1) as library, pytest.raises(ValueError, match="a is on device 0; expected device 1, for which"):
        library.gemm(Capsule(a), b, d)


def test_the_default_library_has_what_the_library_opens_by_default(stand_in, monkeypatch):
    stand_in.tell("default", b"/bests/h200.db", ctypes.c_char * 256)
    assert _defaults.default_library(0).path == "/bests/h200.db"
    monkeypatch.setenv("TILESMITH_DB", "/elsewhere.db")
    with tilesmith.Library.open_default(1, trial_budget=2) as library:
        assert library.path == "/elsewhere.db" and library.ordinal == 1
    assert stand_in.record.options.trial_budget == 2
    with tilesmith.open() as library:
        assert library.path is None


def test_many_problems_are_prepared_at_once(stand_in, library, tmp_path):
    if not os.environ.get("TILESMITH_REAL_LIBRARY"):
        pytest.skip("there is no TILESMITH_REAL_LIBRARY")
    told = []
    library.prepare_all([tilesmith.Problem("f16f32", "NN", 64, 64, 64), "f16f32 NT 8 8 8 epilogue=bias_n 0.5"],
                        lambda done, total, text: told.append((done, total, text)))
    assert told == [(1, 2, "f16f32 NN 64 64 64"), (2, 2, "f16f32 NT 8 8 8 epilogue=bias_n")]
    file = tmp_path / "app.workload"
    file.write_text("# of a run\nweights calls\nf16f32 NN 64 64 64 3  # often\n\nbf16f32 NT 16 8 8 2e3 lda=16\n")
    library.prepare_all(file)
    library.prepare_all([])
    assert stand_in.record.prepared == 4
    with pytest.raises(tilesmith.Error, match="f16f33"):
        library.prepare_all(["f16f33 NN 64 64 64"])
    with pytest.raises(KeyError):
        library.prepare_all(file, lambda *_: {}["what the caller raises"])
    stand_in.tell("next_status", 4)
    with pytest.raises(tilesmith.Error, match="told to fail"):
        library.prepare_all(file)


def fake_program(tmp_path, monkeypatch, status=0):
    """Writes its arguments and the workload beside itself."""
    file = tmp_path / "program"
    file.write_text(f"#!/bin/sh\ncd '{tmp_path}'\necho \"$@\" >arguments\necho \"$TILESMITH_FAMILY_DIR\" >folders\ncat \"$3\" >workload 2>/dev/null\necho 'half way' >&2\necho 'the last line' >&2\nexit {status}\n")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("TILESMITH_PROGRAM", str(file))


def test_tuning_runs_the_program(stand_in, tmp_path, monkeypatch, capfd):
    fake_program(tmp_path, monkeypatch)
    problems = {tilesmith.Problem("f16f32", "NN", 64, 64, 64): 3, tilesmith.Problem("f16f32", "NT", 8, 8, 8, bias="n"): 0.5}
    target = tilesmith.tune(problems, 90, database=tmp_path / "t.db", arguments=["--seed", "3"])
    words = (tmp_path / "arguments").read_text().split()
    assert words[:2] == ["tune", "--workload"] and words[3:] == ["--db", target, "--device", "0", "--seed", "3", "--budget", "90s"]
    assert (tmp_path / "workload").read_text() == "weights calls\nf16f32 NN 64 64 64 3\nf16f32 NT 8 8 8 epilogue=bias_n 0.5\n"
    assert not os.path.exists(words[2])
    folders = (tmp_path / "folders").read_text().strip()
    assert os.path.exists(folders + "/kernel.json") and folders.endswith("/kernels/quantise")  # so that workloads may name it
    monkeypatch.setenv("TILESMITH_FAMILY_DIR", "/mine")
    assert _program.environment()["TILESMITH_FAMILY_DIR"] == "/mine:" + folders
    monkeypatch.delenv("TILESMITH_FAMILY_DIR")
    assert capfd.readouterr().err == "half way\nthe last line\n"
    assert _defaults.default_library(0).path == target
    tilesmith.tune("llama3-8b", "2h", database=target, quiet=True)
    assert "--workload llama3-8b --db" in (tmp_path / "arguments").read_text() and capfd.readouterr().err == ""


def test_tuning_that_fails_says_why(stand_in, tmp_path, monkeypatch):
    fake_program(tmp_path, monkeypatch, status=3)
    with pytest.raises(tilesmith.Error, match="^tilesmith tune ended with status 3: the last line$"):
        tilesmith.tune("quick", "1m", quiet=True)
    monkeypatch.setenv("TILESMITH_PROGRAM", "")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(_program._abi, "FOLDER", tmp_path)
    with pytest.raises(tilesmith.Error, match="^the program tilesmith was not found; expected a wheel"):
        _program.program()


def test_tuning_begins_with_what_ships(stand_in, tmp_path, monkeypatch):
    fake_program(tmp_path, monkeypatch)
    (tmp_path / "h200.db").write_text("bests")
    stand_in.tell("default", str(tmp_path / "h200.db").encode(), ctypes.c_char * 256)
    target = tilesmith.tune("quick", quiet=True)
    assert target == str(_defaults.user_database()) and open(target).read() == "bests"


def test_your_own_database_gets_its_folder_and_another_one_does_not(stand_in, tmp_path, monkeypatch):
    fake_program(tmp_path, monkeypatch)
    monkeypatch.delenv("TILESMITH_DB", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert tilesmith.tune("quick", quiet=True) == str(tmp_path / "data" / "tilesmith" / "tuned.db")
    assert (tmp_path / "data" / "tilesmith").is_dir()
    tilesmith.tune("quick", database=tmp_path / "typo" / "t.db", quiet=True)  # which the program refuses
    assert not (tmp_path / "typo").exists()
