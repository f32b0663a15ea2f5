"""Kernels of one's own, launched on arrays."""

import ctypes
import json

import pytest

import tilesmith
from arrays import Array, Capsule, by_columns

DEFINITION = {
    "name": "row_softmax", "sizes": {"rows": 4096, "cols": 1000},
    "arguments": [{"out": "f32[rows][cols]"}, {"x": "f32[ rows ][cols]", "fill": "normal"}, {"cols": "s32", "value": "cols"}],
}


def folder_of(path, definition=DEFINITION):
    (path / "kernel.json").write_text(json.dumps(definition))
    return path


@pytest.fixture
def kernel(library, tmp_path):
    with tilesmith.Kernel(folder_of(tmp_path), library) as made:
        yield made


def sizes(stand_in):
    return (ctypes.c_char * 256).in_dll(stand_in.lib, "stand_in_sizes_named").value.decode()


def buffers(stand_in, count):
    return list((ctypes.c_uint64 * count).in_dll(stand_in.lib, "stand_in_buffers"))


def test_sizes_are_those_of_the_arrays(kernel, stand_in):
    out, x = Array((4, 6)), Array((4, 6), read_only=True)
    assert kernel(out, x) is None
    assert sizes(stand_in) == "rows=4 cols=6" and buffers(stand_in, 2) == [out.address, x.address]
    kernel(Array((2, 3)), Array((2, 3)), stream=0x77)
    assert (sizes(stand_in), stand_in.record.stream) == ("rows=2 cols=3", 0x77)
    kernel(out, x)  # as before, looked up
    assert sizes(stand_in) == "rows=4 cols=6" and stand_in.record.runs == 3


def test_sizes_that_are_given_count(kernel, stand_in):
    kernel(Array((24,)), Array((24,)), cols=6, rows=4)
    assert sizes(stand_in) == "cols=6 rows=4"
    kernel(Array((24,)), Array((4, 6)), cols=6)
    assert sizes(stand_in) == "cols=6 rows=4"
    kernel(Array((4096, 1000)), Array((4096000,)))
    assert sizes(stand_in) == "rows=4096 cols=1000"


def test_arrays_of_dlpack_are_launched_on_the_stream(kernel, stand_in):
    x = Capsule(Array((4, 6)))
    kernel(Array((4, 6)), x, stream=9)
    assert x.streams == [9]


WRONG = {
    "count": (lambda k: k(Array((4, 6))), TypeError, "1 arrays are given; expected 2: out, x"),
    "a list": (lambda k: k(Array((4, 6)), [1.0]), TypeError, "x is a builtins.list; expected an array on a CUDA device"),
    "type": (lambda k: k(Array((4, 6)), Array((4, 6), "f8")), ValueError, "x is f64; expected f32"),
    "contiguity": (lambda k: k(Array((4, 6)), Array((4, 6), strides=by_columns((4, 6)))), ValueError, "x is not contiguous; expected rows side by side"),
    "read-only": (lambda k: k(Array((4, 6), read_only=True), Array((4, 6))), ValueError, "out is read-only; expected an array that may be written"),
    "other rows": (lambda k: k(Array((4, 6)), Array((6, 4))), ValueError, "x is 6x4; expected rows 4, as of an array before it"),
    "elements": (lambda k: k(Array((4, 6)), Array((4, 6)), rows=5), ValueError, "out has 24 elements; expected 30, f32[rows][cols] at rows=5 cols=6"),
    "no number": (lambda k: k(Array((4, 6)), Array((4, 6)), rows="5"), TypeError, "rows is '5'; expected a whole number"),
    "no size": (lambda k: k(Array((4, 6)), Array((4, 6)), row=5), tilesmith.Error, "there is no such size"),
    "stream": (lambda k: k(Array((4, 6)), Array((4, 6)), stream="s"), TypeError, "stream is a str; expected a number"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_input(kernel, stand_in, name):
    call, kind, line = WRONG[name]
    for _ in range(2):  # a wrong call is not kept
        with pytest.raises(kind) as caught:
            call(kernel)
        assert str(caught.value).startswith(line) and "\n" not in str(caught.value)
    assert stand_in.record.runs == 0


def test_all_types_of_kernel_json_are_known(library, stand_in, tmp_path):
    kinds = {"u16": "u2", "s64": "i8", "u64": "u8", "u32": "u4", "s16": "i2"}
    codes = {"u16": (1, 16), "s64": (0, 64), "u64": (1, 64), "u32": (1, 32), "s16": (0, 16)}
    for dtype in kinds:
        definition = dict(DEFINITION, arguments=[{"out": dtype + "[rows][cols]"}])
        kernel = tilesmith.Kernel(folder_of(tmp_path, definition), library)
        array = Array((4, 6), "f8")
        kernel(Capsule(array, *codes[dtype]))
        interface = type("Typed", (), {"__cuda_array_interface__": {**array.__cuda_array_interface__, "typestr": "<" + kinds[dtype]}})
        kernel(interface())
        kernel.close()
    assert stand_in.record.runs == 10


def test_a_launch_at_known_sizes_looks_at_no_array(kernel, stand_in):
    launch = kernel.at(rows=4, cols=6)
    for at in (0x100, 0x200):
        launch([at, at + 8], 0x77)
        assert (sizes(stand_in), buffers(stand_in, 2), stand_in.record.stream) == ("rows=4 cols=6", [at, at + 8], 0x77)
    kernel.close()
    with pytest.raises(tilesmith.Error, match="^the kernel is closed; expected an open one$"):
        launch([8, 8], 0)


def test_a_kernel_ends_as_libraries_do(library, stand_in, tmp_path):
    count = ctypes.c_int32.in_dll(stand_in.lib, "stand_in_kernels")
    kernel = tilesmith.Kernel(folder_of(tmp_path), library)
    assert count.value == 1
    kernel.close()
    assert count.value == 0
    with pytest.raises(tilesmith.Error, match="^the kernel is closed; expected an open one$"):
        kernel(Array((4, 6)), Array((4, 6)))
    stand_in.tell("next_status", 1)
    with pytest.raises(tilesmith.Error):
        tilesmith.Kernel(tmp_path, library)


def test_without_a_library_the_default_one_launches(stand_in, tmp_path):
    kernel = tilesmith.Kernel(folder_of(tmp_path))
    kernel(Array((4, 6)), Array((4, 6)))
    assert stand_in.record.opened == 1 and stand_in.record.runs == 1
    kernel.close()
