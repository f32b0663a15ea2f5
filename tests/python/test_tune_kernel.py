"""tune_kernel: the folders that it writes, which a stand-in of the program keeps, and what it makes of records."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

import tilesmith
from conftest import ROOT

numpy = pytest.importorskip("numpy")
from tilesmith._traced import trace  # noqa: E402
from tilesmith._tune_folder import Parameters  # noqa: E402

sys.path.insert(0, str(ROOT / "examples" / "python"))
import kernel_tuner_examples as examples  # noqa: E402

SOURCE = "__global__ void vector_add(float *c, const float* __restrict__ a, float const b[], int n) { /* ... */ }"
STAND_IN = """#!{python}
import pathlib, shutil, sys
here, words = pathlib.Path(__file__).parent, sys.argv[1:]
if words[0] == "tune":
    shutil.copytree(words[words.index("--kernel") + 1], here / "kept", dirs_exist_ok=True)
    (here / "words").write_text(" ".join(words))
    print("a line for people")
    sys.exit((here / "failure").exists() and "tilesmith tune: none is right")
if words[0] == "verify":
    shutil.copytree(here / "results", words[words.index("--results") + 1], dirs_exist_ok=True)
    sys.exit()
print((here / "records.json").read_text())
"""


def record(config, status="ok", **more):
    return {"config": config, "status": status, "message": None, "median_us": 2000.0, "device": "NVIDIA H200/sm_90/132SM", "created_at": "today",
            "driver_version": "13.0", "nvrtc_version": "13.0", "compiler_options": "-O3", **more}


class Program:
    def __init__(self, path):
        self.path = path
        (path / "tilesmith").write_text(STAND_IN.format(python=sys.executable))
        (path / "tilesmith").chmod(0o755)
        self.tell([record("k{block_size_x=64}")])

    def tell(self, records):
        (self.path / "records.json").write_text(json.dumps(records))

    @property
    def words(self):
        return (self.path / "words").read_text()

    @property
    def source(self):
        return (self.path / "kept" / "kernel.cu").read_text()

    @property
    def definition(self):
        return json.loads((self.path / "kept" / "kernel.json").read_text())

    def tune(self, **options):
        a = numpy.arange(6, dtype=numpy.float32)
        call = dict(kernel_name="vector_add", kernel_source=SOURCE, problem_size=1000, arguments=[a, a, a, numpy.int32(6)],
                    tune_params={"block_size_x": [64, 128]}, quiet=True)
        return tilesmith.tune_kernel(**{**call, **options})


@pytest.fixture
def program(tmp_path, monkeypatch):
    monkeypatch.setenv("TILESMITH_PROGRAM", str(tmp_path / "tilesmith"))
    return Program(tmp_path)


@pytest.fixture
def real_program():
    path = pathlib.Path(os.environ.get("TILESMITH_REAL_LIBRARY", "")).parent.parent / "bin" / "tilesmith"
    if not os.access(path, os.X_OK):
        pytest.skip("there is no tilesmith beside TILESMITH_REAL_LIBRARY")
    return path


def test_a_call_becomes_a_folder(program):
    answer = numpy.ones(6, numpy.float32)
    program.tune(answer=[answer, None, None, None], atol=1e-3)
    made = program.definition
    assert (made["name"], made["entry"], made["parameters"]) == ("vector_add", "vector_add", {"block_size_x": [64, 128]})
    assert made["arguments"] == [
        {"c": "f32[6]", "role": "inout", "fill": {"file": "c.bin"}}, {"a": "f32[6]", "role": "in", "fill": {"file": "a.bin"}},
        {"b": "f32[6]", "role": "in", "fill": {"file": "b.bin"}}, {"n": "s32", "value": 6}]
    grid = ["((1000 + block_size_x - 1) / block_size_x)", "1", "1"]
    assert made["launch"] == {"grid": grid, "block": ["block_size_x", "1", "1"], "shared_bytes": "0"}
    assert made["reference"] == {"files": {"c": "c_answer.bin"}} and made["tolerance"] == {"c": {"absolute": 1e-3, "relative": 1e-5}}
    assert made["deterministic"] is False
    assert (program.path / "kept" / "c_answer.bin").read_bytes() == answer.tobytes()
    assert "#define kernel_tuner 1\n" in program.source and program.source.endswith(f"#line 1\n{SOURCE}")
    assert "--unproven" not in program.words and "--strategy exhaustive" in program.words


def test_values_that_are_no_integers_are_counted(program):
    program.tell([record("k{block_size_x=64,real_index=1}"), record("k{block_size_x=64,real_index=0}", "mismatch")])
    results, _ = program.tune(tune_params={"block_size_x": [numpy.int64(64)], "real": ["float", "double"]}, restrictions=["real != 'float'"],
                              kernel_name="space::vector_add<real>")
    assert program.definition["parameters"] == {"block_size_x": [64], "real_index": [0, 1]}
    assert program.definition["rules"][0]["holds"] == "!(real_index == 0)"
    assert "#if real_index == 0\n#define real float\n#elif real_index == 1\n#define real double\n#endif\n" in program.source
    assert (program.definition["name"], program.definition["entry"]) == ("space_vector_add", "space::vector_add<real>")
    assert [one["real"] for one in results] == ["float", "double"]


def test_the_launch_follows_sizes_divisors_and_functions(program):
    program.tell([record("k{wide=64,n=1}")])
    program.tune(tune_params={"wide": [64], "n": [1]}, block_size_names=["wide"], problem_size=("2 * n", lambda p: p["n"] + 1, numpy.int32(7)),
                 grid_div_x=["wide/32", 2], grid_div_y=lambda p: p["wide"] / 48, grid_div_z=[], smem_args={"size": lambda p: 4 * p["wide"]},
                 defines={"half": lambda p: p["wide"] // 2, "wide": "wide", "block_size_y": 4})
    made = program.definition["launch"]
    assert made["grid"] == ["(((2 * n) + ((wide / 32) * 2) - 1) / ((wide / 32) * 2))", "((((n + 1) * 48) + wide - 1) / wide)", "7"]
    assert made["block"] == ["wide", "4", "1"] and made["shared_bytes"] == "(4 * wide)"
    assert program.source.startswith("#define half (wide / 2)\n#define block_size_y 4\n#line 1\n")


def test_constants_scalars_and_other_arrays(program):
    of_device = type("Array", (), {"__module__": "cupy", "get": lambda self: numpy.zeros((2, 3), numpy.int64)})()
    program.tune(arguments=[of_device, numpy.float64(0.5), 3, 2.5], cmem_args={"d_filter": numpy.ones(4, numpy.float16)},
                 answer=[numpy.zeros(6, numpy.int64), None, None, None], kernel_source="extern void other(); // vector_add(a)\n")
    assert program.definition["arguments"] == [
        {"arg0": "s64[6]", "role": "inout", "fill": {"file": "arg0.bin"}}, {"arg1": "f64", "value": 0.5}, {"arg2": "s32", "value": 3},
        {"arg3": "f32", "value": 2.5}, {"d_filter": "f16[4]", "role": "constant", "fill": {"file": "d_filter.bin"}}]
    assert program.definition["tolerance"] == {"arg0": "exact"}


def test_files_and_unrolled_loops(program, tmp_path):
    (tmp_path / "k.cu").write_text('#include "h.cuh"\n#pragma unroll loop_unroll_factor\n')
    (tmp_path / "h.cuh").write_text("int x;\n")
    program.tell([record("k{loop_unroll_factor=0}")])
    program.tune(kernel_source=[str(tmp_path / "k.cu"), tmp_path / "h.cuh"], tune_params={"loop_unroll_factor": [0, 4]})
    assert (program.path / "kept" / "h.cuh").read_text() == "int x;\n"
    assert "constexpr int unroll_by_loop_unroll_factor = loop_unroll_factor;\n" in program.source
    assert "#pragma unroll unroll_by_loop_unroll_factor\n" in program.source and "#define block_size_x 256\n" in program.source


def test_records_become_results_in_the_order_measured(program, capfd):
    config = "vector_add{{block_size_x={}}}".format
    program.tell([record(config(128), median_us=500.0), record(config(64), "compile_failed", message="no such type"), record(config(128), "mismatch"),
                  record(config(64), device="NVIDIA A100/sm_80/108SM")])
    results, env = program.tune(metrics={"GB/s": "3 / time", "twice": lambda p: 2 * p["GB/s"]}, objective="GB/s", quiet=False)
    first, second = results
    assert (first["block_size_x"], first["time"], first["GB/s"], first["twice"], first["timestamp"]) == (128, 0.5, 6.0, 12.0, "today")
    assert (second["block_size_x"], str(second["time"]), second["message"]) == (64, "CompilationFailedConfig", "compile_failed: no such type")
    assert second["__error__"] is second["time"] and isinstance(second["time"], str) and "GB/s" not in second
    assert (env["device_name"], env["tilesmith_version"], env["best_config"]) == ("NVIDIA H200", tilesmith.__version__, first)
    out = capfd.readouterr().out
    assert "a line for people" in out and "best of 2 configs: block_size_x=128, time=0.5, GB/s=6, twice=12 (time in ms)" in out
    program.tune()
    assert capfd.readouterr().out == ""


def test_a_run_without_a_right_config_has_results_if_there_are_records(program):
    (program.path / "failure").touch()
    program.tell([record("k{block_size_x=64}", "mismatch", message="c differs"), record("k{block_size_x=128}", "illegal")])
    results, env = program.tune()
    assert [str(one["time"]) for one in results] == ["InvalidConfig", "RuntimeFailedConfig"] and env["best_config"] == {}
    program.tell([])
    with pytest.raises(tilesmith.Error, match="^tilesmith tune ended with status 1: tilesmith tune: none is right$"):
        program.tune()


def test_verify_is_asked_of_the_results_of_each_config(program):
    configs = [f"k{{block_size_x={size}}}" for size in (64, 128, 256)]
    program.tell([record(config) for config in reversed(configs)])
    (program.path / "results").mkdir()
    (program.path / "results" / "configs.txt").write_text("".join(f"{i} {config}\n" for i, config in enumerate(configs[:2])))
    for i in range(2):
        numpy.full(6, i, numpy.float32).tofile(program.path / "results" / f"{i}.c.bin")
    seen = []

    def verify(answer, results, atol=None):
        seen.append((answer[0], results[0].tolist(), results[1:], atol))
        return results[0].sum() == answer[0]

    results, env = program.tune(answer=[0.0, None, None, None], verify=verify, atol=0.5, tune_params={"block_size_x": [64, 128, 256]})
    assert seen == [(0.0, [0.0] * 6, [None] * 3, 0.5), (0.0, [1.0] * 6, [None] * 3, 0.5)]
    assert [str(one["time"]) for one in results] == ["2.0", "RuntimeFailedConfig", "RuntimeFailedConfig"]
    assert [one.get("message") for one in results] == [None, "mismatch: verify() refused its results", "mismatch: wrong when it ran again"]
    assert env["best_config"]["block_size_x"] == 64 and "reference" not in program.definition and "--unproven" in program.words


def test_strategies_and_the_cache(program, tmp_path):
    program.tune(strategy="genetic_algorithm", strategy_options={"max_fevals": 9, "time_limit": 30.4}, device=1, seed=3, verbose=True)
    assert program.words.endswith("--strategy forest --device 1 --peer none --unproven -v --seed 3 --max-candidates 9 --budget 30s")
    names = set()
    for size in (1000, 1000, 2000):
        program.tune(problem_size=size, cache=tmp_path / "kept_records", strategy="annealing")
        names.add(program.definition["name"])
    assert f"--db {tmp_path}/kept_records.db" in program.words and "--strategy annealing" in program.words
    assert len(names) == 2 and all(name.startswith("vector_add_") for name in names)


def holds(text):
    parameters = Parameters({"a": [1], "b": [1], "c": [1], "t": ["float", "double"]})
    return trace(lambda: bool(parameters.evaluated(text)), "rule")


RULES = {
    "a * b <= 1024 and c < 3": "(((a * b) <= 1024) && (c < 3))",
    "a in [1, 2] or not b": "((a == 1) || ((a == 2) || !b))",
    "1 < b <= 4": "((b > 1) && (b <= 4))",
    "a / b == c / 2": "((a * 2) == (c * b))",
    "a/32 % 2 == 0": "((a % 64) == 0)",
    "a // 32 * b ** 2 >= 0.5": "((((a / 32) * (b * b)) * 2) >= 1)",
    "min(a, b) > -1": "((b < a) ? (b > (-1)) : (a > (-1)))",
    "(a if t == 'double' else b) != 7": "((t_index == 1) ? (a != 7) : (b != 7))",
    "math.ceil(a / b) == int(c / 2)": "(((a + b - 1) / b) == (c / 2))",
    "max([1, 2]) == 2": "1",
}


@pytest.mark.parametrize("text", RULES)
def test_rules_are_translated(text):
    assert holds(text) == RULES[text]


def test_functions_are_translated_as_texts_are():
    for given in (lambda p: p["a"] * p["b"] <= 1024 and p["c"] < 3, lambda a, b, c: a * b <= 1024 and c < 3):
        assert holds(given) == RULES["a * b <= 1024 and c < 3"]


A = numpy.zeros(6, numpy.float32)
WRONG = {
    "observers": (dict(observers=[print]), "observers is [<built-in"),
    "lang": (dict(lang="OpenCL"), "lang is 'OpenCL'; expected None, \"CUDA\", \"CuPy\" or \"NVCUDA\""),
    "compiler options": (dict(compiler_options=["-std=c++17", "-DN=1"]), "compiler_options is ['-DN=1']; expected #define in the source or defines="),
    "textures": (dict(texmem_args={"t": A}), "texmem_args is {"),
    "operator": (dict(restrictions=["block_size_x & 1"]), "restrictions: block_size_x & 1: unsupported operand"),
    "unknown name": (dict(restrictions=["blocks < 1"]), "restrictions: blocks < 1: name 'blocks' is not defined; expected whole numbers with"),
    "too many cases": (dict(restrictions=lambda p: sum(1 if p["block_size_x"] % i else 2 for i in range(2, 22))),
                       "restrictions: a function: it has too many cases; expected"),
    "list": (dict(arguments=[[1.0], A, A, 1]), "c is a list of no type; expected a number or an array of numbers"),
    "complex": (dict(arguments=[A.astype(complex), A, A, 1]), "c is a ndarray of complex128; expected"),
    "half": (dict(arguments=[A, A, A, numpy.float16(1)]), "n is a number of type float16; expected an integer, float32 or float64"),
    "count of answers": (dict(answer=[A]), "answer has 1 entries; expected 4, one for each argument"),
    "type of an answer": (dict(answer=[A.astype(int), None, None, None]), "answer: c is s64[6]; expected f32[6]"),
    "answer of a number": (dict(answer=[None, None, None, 6]), "answer: n is a number; expected None"),
    "a parameter defined": (dict(defines={"block_size_x": 3}), "defines: block_size_x is 3; expected no other definition of a parameter"),
    "objective": (dict(objective="GB/s"), "objective is 'GB/s'; expected time or one of metrics"),
    "source": (dict(kernel_source=lambda p: ""), "kernel_source is a function; expected a text, the name of a file, or a list of these"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_input(program, name):
    options, line = WRONG[name]
    with pytest.raises((TypeError, ValueError)) as caught:
        program.tune(**options)
    assert str(caught.value).startswith(line) and "\n" not in str(caught.value)


@pytest.fixture(scope="module")
def example_calls():
    return {name: make() for name, make in examples.EXAMPLES.items()}


def keep(program, call, config, **options):
    program.tell([record(config)])
    tilesmith.tune_kernel(**call, lang="CuPy", quiet=True, **options)
    return program.path / "kept"


@pytest.mark.parametrize("name", examples.EXAMPLES)
def test_examples_are_kernels_that_the_program_accepts(program, real_program, example_calls, name):
    call = example_calls[name]
    first = ",".join(f"{key}={values[0]}" for key, values in call["tune_params"].items())
    folder = keep(program, call, f"k{{{first}}}")
    space = [real_program, "space", "--kernel", folder, "--arch", "sm_90a", "--list"]
    configs = subprocess.run(space, capture_output=True, text=True, check=True).stdout.split()
    assert len(configs) >= 20
    if shutil.which("nvcc"):
        macros = [f"-D{one}" for one in configs[-1].partition("{")[2].rstrip("}").split(",")]
        subprocess.run(["nvcc", "-arch=sm_80", "-ptx", "-o", folder / "kernel.ptx", *macros, folder / "kernel.cu"], check=True)


def test_planted_bugs_replace_a_text_that_occurs_once(example_calls):
    assert len(examples.BUGS) == 12
    for name, right, wrong, *_ in examples.BUGS.values():
        source = example_calls[name]["kernel_source"]
        assert source.count(right) == 1 and source.replace(right, wrong) != source
