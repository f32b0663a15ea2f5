"""The structs and functions of tilesmith.h, as ctypes knows them."""

import ctypes
import os
import re
import subprocess
import sys

import pytest

import tilesmith
from conftest import ROOT
from tilesmith import _abi, _weights_abi as weights


def test_structs_are_laid_out_as_in_the_header(stand_in):
    structs = (_abi.CProblem, _abi.COptions, _abi.CExplanation, weights.CWeights, weights.CArray, weights.CSource)
    sizes = [ctypes.sizeof(struct) for struct in structs]
    sizes.insert(1, len(_abi.run_bytes(range(len(_abi.OPERANDS)))))
    assert sizes == stand_in.sizes("sizes", len(sizes))
    fields = (_abi.CProblem.transposes, _abi.CProblem.stride_c, _abi.CProblem.activation, _abi.CProblem.batch_mode, _abi.CProblem.weights,
              _abi.COptions.early_in_graphs, _abi.CExplanation.vendor_best_us, weights.CWeights.a_bits, weights.CSource.g_idx)
    assert [field.offset for field in fields] == stand_in.sizes("offsets", len(fields))


def test_numbers_of_the_header_are_the_packages_own():
    from tilesmith import _activations, _errors

    header = (ROOT / "runtime" / "interface" / "tilesmith.h").read_text()
    statuses = dict(re.findall(r"TILESMITH_([A-Z_]+) = (\d+)[,\s]", header[header.index("tilesmith_status {"):header.index("} tilesmith_status;")]))
    assert {int(number): name.lower().replace("_", " ") for name, number in statuses.items() if name != "OK"} == _errors.STATUS_NAMES
    operands = dict(re.findall(r"TILESMITH_([A-Z_]+) = (\d+),", header[header.index("tilesmith_operand {"):header.index("TILESMITH_OPERANDS =")]))
    assert {name.lower(): int(number) for name, number in operands.items()} == {name: i for i, name in enumerate(_abi.OPERANDS)}
    activations = dict(re.findall(r"TILESMITH_([A-Z_]+) = (\d+)", header[header.index("tilesmith_activation {"):header.index("} tilesmith_activation;")]))
    assert {name.lower(): int(number) for name, number in activations.items() if name != "IDENTITY"} == {
        name: row.number for name, row in _activations.ACTIVATIONS.items() if name}


def test_a_missing_library_is_one_line(stand_in, monkeypatch):
    monkeypatch.setenv("TILESMITH_LIBRARY", "/nowhere/libtilesmith.so")
    _abi.load.cache_clear()
    with pytest.raises(tilesmith.Error, match=r"^/nowhere/libtilesmith.so could not be loaded .*; expected a wheel") as caught:
        tilesmith.open()
    assert "\n" not in str(caught.value)


def test_a_library_that_is_another_is_one_line(stand_in, monkeypatch):
    monkeypatch.setenv("TILESMITH_LIBRARY", "libc.so.6")
    _abi.load.cache_clear()
    with pytest.raises(tilesmith.Error, match="has no tilesmith_version; expected libtilesmith 0.1"):
        tilesmith.version()


def test_without_a_device_opening_says_so(stand_in):
    stand_in.tell("no_device", 1)
    with pytest.raises(tilesmith.Error, match="^no NVIDIA driver$") as caught:
        tilesmith.open()
    assert (caught.value.status, caught.value.name) == (3, "no device")


def test_the_package_says_what_is_missing(stand_in):
    stand_in_env = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "TILESMITH_LIBRARY": "/nowhere.so"}
    done = subprocess.run([sys.executable, "-m", "tilesmith"], capture_output=True, text=True, env=stand_in_env)
    assert done.returncode == 2
    assert done.stdout == f"tilesmith {tilesmith.__version__}\n"
    assert done.stderr.startswith("missing   /nowhere.so could not be loaded") and done.stderr.count("\n") == 1


def test_with_arguments_the_package_is_the_program(tmp_path):
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\necho \"$0 $*\"\nexit 7\n")
    program.chmod(0o755)
    env = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "TILESMITH_PROGRAM": str(program)}
    done = subprocess.run([sys.executable, "-m", "tilesmith", "run", "--db", "a b"], capture_output=True, text=True, env=env)
    assert (done.returncode, done.stdout) == (7, f"{program} run --db a b\n"), done.stderr
    env.update(TILESMITH_PROGRAM="/nowhere/tilesmith")
    done = subprocess.run([sys.executable, "-m", "tilesmith", "devices"], capture_output=True, text=True, env=env)
    assert done.returncode == 1 and done.stderr == "tilesmith: /nowhere/tilesmith could not be started: No such file or directory\n"


def test_importing_takes_nothing_but_the_standard_library():
    code = "import sys, tilesmith; print([name for name in ('numpy', 'torch', 'cupy', 'jax') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
    assert done.stdout == "[]\n", done.stderr


def test_the_version_is_the_projects():
    found = re.search(r"project\(tilesmith VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())
    assert found and found[1] == tilesmith.__version__


@pytest.mark.skipif("TILESMITH_REAL_LIBRARY" not in os.environ, reason="$TILESMITH_REAL_LIBRARY names no library")
def test_the_real_library_knows_the_problems_and_type_pairs():
    from tilesmith import _types

    code = """
import tilesmith
from tilesmith import _abi
lib = _abi.load()
print([lib.tilesmith_type_pair_name(i).decode() for i in range(lib.tilesmith_type_pair_count())])
print(tilesmith.Problem("f16f32f16", "NT", 8, 16, 32, batch=3, stride_b=0, bias="n", activation="gelu"))
try:
    print(tilesmith.open().device)
except tilesmith.Error as why:
    print(why)
"""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "TILESMITH_LIBRARY": os.environ["TILESMITH_REAL_LIBRARY"]}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    pairs, problem, device = done.stdout.splitlines()
    ours = {pair for outputs in _types._PAIRS.values() for pair in outputs.values()} | set(_types._COMPUTES.values())
    assert set(eval(pairs)) == ours
    assert problem == "f16f32f16 NT 8 16 32 batch=3 stride_b=0 epilogue=bias_n+gelu batch_mode=strided"
    assert device


def test_the_package_shows_what_it_has_and_nothing_else(stand_in):
    code = "import tilesmith; print(sorted(dir(tilesmith)) == sorted([*tilesmith.__all__, '__version__'])); tilesmith.weights.pack; tilesmith.sparse.compress"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
    assert done.stdout == "True\n", done.stderr
    assert {"weights", "sparse", "gemm"} <= set(dir(tilesmith)) and not {"Any", "Optional", "Path", "annotations"} & set(dir(tilesmith))
