"""A built wheel, installed where nothing else of the project is seen: its files, its program, its shims under programs that use cuBLAS.

$TILESMITH_WHEEL names it; scripts/wheel.sh runs this. A wheel of another architecture needs $TILESMITH_EMULATOR ("qemu-aarch64 -L ROOT"), a
Python below that root, and in $CXX a compiler for it. cuBLAS, the driver and, where a call is to be taken over, libtilesmith are stand-ins.
"""

import os
import pathlib
import platform
import re
import shlex
import subprocess
import sys
import zipfile

import pytest

from conftest import ROOT

WHEEL = os.environ.get("TILESMITH_WHEEL", "")
EMULATOR = shlex.split(os.environ.get("TILESMITH_EMULATOR", ""))
CXX = shlex.split(os.environ.get("CXX", "c++"))
STAND_INS = ROOT / "tests" / "cublas_shim"
MAJORS = (12, 13)
pytestmark = pytest.mark.skipif(not WHEEL, reason="$TILESMITH_WHEEL names no wheel")
native = pytest.mark.skipif(bool(EMULATOR), reason="an emulated program starts no other")

THREE_LINES = """
import tilesmith
library = tilesmith.open()
print(library.device)
"""


def clean(**more):
    """The environment without what would lead to another Tilesmith or another Python."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TILESMITH_", "PYTHON", "LD_"))}
    return {**kept, "PYTHONDONTWRITEBYTECODE": "1", **more}


def run(command, cwd, guest=(), **env):
    """guest: what an emulated program gets and the emulator itself must not."""
    before = [*EMULATOR, *(word for name, value in dict(guest).items() for word in ("-E", f"{name}={value}"))] if EMULATOR else []
    return subprocess.run([*before, *map(str, command)], capture_output=True, text=True, cwd=cwd, timeout=240,
                          env=clean(**env, **({} if EMULATOR else dict(guest))))


class Installed:
    def __init__(self, folder):
        pip = [sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--no-compile", "--disable-pip-version-check"]
        if EMULATOR:
            tag = re.search(r"(manylinux\w+)\.whl$", WHEEL)[1]
            subprocess.run([*pip, "--target", folder / "site", "--platform", tag, "--only-binary=:all:", WHEEL], check=True, env=clean())
            self.site, root = folder / "site", pathlib.Path(EMULATOR[EMULATOR.index("-L") + 1])
            self.python = next(iter(sorted(root.glob("usr/bin/python3.[0-9]*[0-9]"))), "no-python")
            self.console = self.site / "tilesmith" / "bin" / "tilesmith"
            self.env = {"PYTHONPATH": str(self.site)}
        else:
            subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True, env=clean())
            self.python, self.console, self.env = folder / "venv" / "bin" / "python", folder / "venv" / "bin" / "tilesmith", {}
            subprocess.run([self.python, *pip[1:], WHEEL], check=True, env=clean())
            self.site = next((folder / "venv" / "lib").glob("python3*/site-packages"))
        self.package = self.site / "tilesmith"


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    return Installed(tmp_path_factory.mktemp("installed"))


def build(folder, major):
    """The stand-ins for NVIDIA's libraries and for libtilesmith, and a program that is linked with cuBLAS."""
    real, driver = folder / "real", folder / "driver"
    real.mkdir()
    driver.mkdir()
    flags = ["-std=c++20", "-O1", "-w", "-fPIC", "-I", str(ROOT)]

    def library(to, source, *others):
        more = []
        if to.name.startswith("libcublas"):
            script = folder / f"{to.name}.map"
            script.write_text((STAND_INS / "stand_in.map.in").read_text().replace("@node@", to.name))
            more = [f"-Wl,--version-script={script}"]
        subprocess.run([*CXX, *flags, "-shared", STAND_INS / source, *others, f"-Wl,-soname,{to.name}", *more, "-o", to], check=True, env=clean())
        return to

    counts = library(real / "libstand_in_counts.so", "stand_in_counts.cpp")
    lt = library(real / f"libcublasLt.so.{major}", "stand_in_cublaslt.cpp", counts, f"-Wl,-rpath,{real}")
    cublas = library(real / f"libcublas.so.{major}", "stand_in_cublas.cpp", lt, counts, f"-Wl,-rpath,{real}")
    library(driver / "libcuda.so.1", "stand_in_cuda.cpp")
    library(driver / "stand_in_tilesmith.so", "stand_in_tilesmith.cpp")
    subprocess.run([*CXX, *flags, STAND_INS / "client_linked.cpp", STAND_INS / "client_tables.cpp", cublas, lt, counts, f"-Wl,-rpath,{real}", "-lpthread", "-ldl",
                    "-o", folder / "client"], check=True, env=clean())
    (folder / "app.db").touch()


@pytest.fixture(scope="module", params=MAJORS)
def room(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(f"cublas{request.param}")
    build(folder, request.param)
    return folder, request.param


def test_the_wheel_holds_what_it_needs():
    names = {entry.filename: entry for entry in zipfile.ZipFile(WHEEL).infolist()}
    wanted = ["bin/tilesmith", "lib/libtilesmith.so.0.1", "bests/h100.db", "bests/h200.db", "recordings/h100.jsonl.zst", "py.typed", "torch/__init__.py", "kernels/quantise/kernel.json",
              "kernels/quantise/quantise.cu"]
    wanted += [f"lib/{name}" for major in MAJORS for name in (f"libtilesmith-cublas{major}.so", f"tilesmith-cublas{major}/libcublas.so.{major}",
                                                              f"tilesmith-cublaslt{major}/libcublasLt.so.{major}")]
    assert not [name for name in wanted if f"tilesmith/{name}" not in names]
    assert names["tilesmith/bin/tilesmith"].external_attr >> 16 & 0o111
    if not EMULATOR:
        assert f"_{platform.machine()}.whl" in WHEEL
    assert not [name for name in names if "__pycache__" in name or ".libs/" in name]


def test_the_program_starts(installed, tmp_path):
    done = run([installed.console, "--version"], tmp_path)
    assert done.returncode == 0 and re.match(r"(tilesmith )?0\.1\.", done.stdout), done
    if not EMULATOR:
        done = run([installed.python, "-m", "tilesmith", "capture", "--help"], tmp_path)
        assert done.returncode == 0 and "Start a program and write which products" in done.stdout, done


@native
def test_what_ships_is_found_without_a_gpu(installed, tmp_path):
    env = {"HOME": str(tmp_path), "CUDA_VISIBLE_DEVICES": ""}
    done = run([installed.console, "query", "--type", "f16f32", "--shape", "4096"], tmp_path, **env)
    assert done.returncode == 0 and "f16f32  NN" in done.stdout and "tilesmith/bests/h200.db" in done.stderr, done
    done = run([installed.console, "tune", "--replay", "h100", "--type", "bf16f32", "--shape", "4096", "--db", "t.db"], tmp_path, **env)
    assert done.returncode == 0 and "NVIDIA H100" in done.stdout, done
    done = run([installed.console, "report", "--db", "t.db", "--out", "report.html"], tmp_path, **env)
    assert done.returncode == 0 and "1 problem tuned on NVIDIA H100" in (tmp_path / "report.html").read_text(), done


def test_three_lines_of_python_say_what_is_missing(installed, tmp_path):
    done = run([installed.python, "-c", THREE_LINES], tmp_path, **installed.env)
    if done.returncode == 0:
        assert done.stdout.count("/sm_") == 1  # there is a GPU
        return
    last = done.stderr.strip().splitlines()[-1]
    assert re.match(r"tilesmith\._errors\.Error: .*(driver|libcuda|device)", last) and not done.stdout, done
    done = run([installed.python, "-m", "tilesmith"], tmp_path, **installed.env)
    missing = done.stderr.splitlines()
    assert done.returncode == 2 and len(missing) == 1 and re.match("missing   .*(driver|libcuda|device)", missing[0]), done
    assert f"library   {installed.package}/lib/libtilesmith.so." in done.stdout and f"program   {installed.package}/bin/tilesmith" in done.stdout


@native
def test_a_program_is_captured_and_served(installed, room):
    folder, major = room
    stand_ins = {"LD_LIBRARY_PATH": str(folder / "driver"), "TILESMITH_LIBRARY": str(folder / "driver" / "stand_in_tilesmith.so")}
    client = folder / "client"
    done = run([installed.console, "capture", "-o", "app.workload", "--", client, "forwarded"], folder, **stand_ins)
    assert done.returncode == 0, done
    lines = [line for line in (folder / "app.workload").read_text().splitlines() if not line.startswith(("#", "weights"))]
    assert lines == ["f16f32f16 NT 5 3 64 10", "f16f32f16 NT 5 3 65 10"]
    done = run([installed.console, "run", "--db", "app.db", "--", client, "taken"], folder, **stand_ins)
    assert done.returncode == 0 and "as expected" in done.stdout, done
    assert re.search(rf"tilesmith: cublas {major}: process \d+, run: \d+ calls of 1 problems\n.* taken over \(1 problems\)", done.stderr), done
    done = run([installed.python, "-m", "tilesmith", "run", "--check", "--db", "app.db", "--", client, "checks"], folder, **stand_ins)
    assert done.returncode == 0 and "2  checked, of which 1 differ" in done.stderr, done
    done = run([installed.console, "run", "--by-name", str(major), "--db", "app.db", "--", client, "types"], folder, **stand_ins)
    assert done.returncode == 0 and "as expected" in done.stdout, done
    done = run([installed.console, "run", "--by-name", str(major), "--lt-too", "--db", "app.db", "--", "printenv", "LD_PRELOAD"], folder)
    libraries = installed.package.resolve() / "lib"
    assert done.stdout == f"{libraries}/tilesmith-cublas{major}/libcublas.so.{major}:{libraries}/tilesmith-cublaslt{major}/libcublasLt.so.{major}\n", done
    done = run([installed.console, "run", "--db", "app.db", "--", installed.python, "-c", "print(6 * 7)"], folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "42\n", "")


def test_a_shim_takes_over_and_finds_its_library(installed, room):
    folder, major = room
    stand_ins = {"LD_LIBRARY_PATH": str(folder / "driver"), "TILESMITH_DB": str(folder / "app.db"), "TILESMITH_CUBLAS": "run"}
    for shim in (f"libtilesmith-cublas{major}.so", f"tilesmith-cublas{major}/libcublas.so.{major}"):
        guest = {**stand_ins, "LD_PRELOAD": str(installed.package / "lib" / shim)}
        for part in ("types", "forms", "matmuls"):
            done = run([folder / "client", part], folder, {**guest, "TILESMITH_LIBRARY": str(folder / "driver" / "stand_in_tilesmith.so")})
            assert done.returncode == 0 and "as expected" in done.stdout, done
        # The wheel's own libtilesmith, which a thread opens, has no database and no driver. A program may have ended before.
        for _ in range(10):
            done = run([folder / "client", "forwarded"], folder, guest)
            assert done.returncode == 0 and "tilesmith: cublas: " in done.stderr, done
            if "; every call is forwarded" in done.stderr:
                break
        assert re.search("(app.db: is empty|driver|libcuda).*; every call is forwarded", done.stderr), done
