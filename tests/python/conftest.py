"""The package with a stand-in of its library (stand_in.c), compiled once. Tests marked gpu want the real one, a GPU and PyTorch."""

import ctypes
import functools
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
if not os.environ.get("TILESMITH_TEST_INSTALLED"):  # set: the installed package is tested
    sys.path.insert(0, str(ROOT / "python"))
sys.path.insert(0, str(HERE))


def pytest_configure(config):
    config.addinivalue_line("markers", "gpu: wants the real library, a GPU and PyTorch; run with -m gpu")


def pytest_collection_modifyitems(config, items):
    if "gpu" in (config.getoption("-m") or ""):
        return
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(pytest.mark.skip(reason="GPU tests run with -m gpu"))


@functools.lru_cache(maxsize=None)
def record_type():
    """stand_in_record of stand_in.c."""
    from tilesmith import _abi

    fields = [(name, ctypes.c_int64) for name in ("runs", "plans", "prepared", "opened")]
    args = type("Run", (ctypes.Structure,), {"_fields_": [("size", ctypes.c_size_t), ("workspace", ctypes.c_void_p),
                                                          *((name, ctypes.c_void_p) for name in _abi.OPERANDS)]})
    fields += [("problem", _abi.CProblem), ("args", args), ("alpha", ctypes.c_double), ("beta", ctypes.c_double),
               ("stream", ctypes.c_uint64), ("path", ctypes.c_char * 256), ("options", _abi.COptions)]
    return type("Record", (ctypes.Structure,), {"_fields_": fields})


class StandIn:
    """What the stand-in recorded, and what it is told to do next."""

    def __init__(self, lib):
        self.lib = lib
        self.record = record_type().in_dll(lib, "stand_in")

    @property
    def problem(self):
        return self.record.problem

    def tell(self, name, value, kind=ctypes.c_int32):
        kind.in_dll(self.lib, f"stand_in_{name}").value = value

    def sizes(self, name, count):
        return list((ctypes.c_size_t * count).in_dll(self.lib, f"stand_in_{name}"))


@pytest.fixture(scope="session")
def stand_in_file(tmp_path_factory):
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("there is no C compiler for the stand-in of the library")
    file = tmp_path_factory.mktemp("stand_in") / "libtilesmith.so"
    subprocess.run([compiler, "-std=c11", "-D_DEFAULT_SOURCE", "-O1", "-shared", "-fPIC", "-fvisibility=hidden", "-I",
                    str(ROOT / "runtime" / "interface"), str(HERE / "stand_in.c"), "-o", str(file), "-lm", "-lpthread", "-ldl"], check=True)
    return file


@pytest.fixture
def stand_in(stand_in_file, monkeypatch, tmp_path):
    """A fresh record; nothing of this machine's own databases is seen."""
    from tilesmith import _abi, _defaults

    monkeypatch.setenv("TILESMITH_LIBRARY", str(stand_in_file))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("TILESMITH_DB", raising=False)
    monkeypatch.delenv("TILESMITH_PROGRAM", raising=False)
    _abi.load.cache_clear()
    _defaults._libraries.clear()
    made = StandIn(_abi.load())
    ctypes.memset(ctypes.addressof(made.record), 0, ctypes.sizeof(made.record))
    for name in ("next_status", "runs_status", "no_device"):
        made.tell(name, 0)
    made.tell("level", b"exact", ctypes.c_char * 16)
    made.tell("vendor_us", 0.0, ctypes.c_double)
    made.tell("default", b"", ctypes.c_char * 256)
    made.tell("device", b"NVIDIA H200/sm_90/132SM", ctypes.c_char * 64)
    yield made
    _defaults._libraries.clear()
    _abi.load.cache_clear()


@pytest.fixture
def library(stand_in):
    import tilesmith

    with tilesmith.open() as opened:
        yield opened


@pytest.fixture
def real(monkeypatch):
    """The library as it was built: repacking in host memory needs no device."""
    path = os.environ.get("TILESMITH_REAL_LIBRARY")
    if not path or not os.path.exists(path):
        pytest.skip("there is no TILESMITH_REAL_LIBRARY")
    try:
        ctypes.CDLL(path)
    except OSError as why:  # with a sanitizer, or of another machine
        pytest.skip(f"it does not load here: {why}")
    from tilesmith import _abi

    monkeypatch.setenv("TILESMITH_LIBRARY", path)
    _abi.load.cache_clear()
    yield
    _abi.load.cache_clear()
