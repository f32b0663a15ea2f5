"""What tilesmith.weights is given: what is refused, in one line, and what is taken for what it is. Repacked by the real library in host memory."""

import ctypes
import struct

import pytest

import tilesmith
from arrays import Array
from test_weights import Host, signed
from tilesmith import weights


@pytest.mark.parametrize("typestr, type, right, wrong", [("|i1", "s4", (-8, 7), (8, -9, 127, -128)), ("|u1", "s4", (0, 15), (16, 255)), ("|u1", "u4", (0, 15), (16, 200)),
                                                         ("|u1", "e2m1", (0, 15), (16,)), ("|u1", "nf4", (0, 15), (16,))])
def test_codes_out_of_range_are_refused(real, typestr, type, right, wrong):
    scales = Host("<f4", (16,), [1.0] * 16)
    weights.pack(Host(typestr, (16, 64), [right[(i * 7) % 2] for i in range(1024)]), scales, type=type)
    for code in wrong:
        with pytest.raises(ValueError, match=f"codes of {'s8' if typestr == '|i1' else 'u8'} go from {code} to {code}; expected {right[0]} to {right[1]} for {type}"):
            weights.pack(Host(typestr, (16, 64), [right[1]] * 1000 + [code] + [right[0]] * 23), scales, type=type)
    weights.pack(Host("|i1", (16, 64), [-128, 127] * 512), scales, type="s8")


def test_codes_on_a_device_are_asked_for_their_range(stand_in):
    class Asked(Array):
        def min(self):
            return 0

        def max(self):
            return 77

    with tilesmith.open() as library, pytest.raises(ValueError, match="codes of u8 go from 0 to 77; expected 0 to 15 for u4"):
        weights.pack(Asked((16, 64), "u1"), Array((16,)), type="u4", library=library)


@pytest.mark.parametrize("call, says", [
    (lambda w, s: weights.from_gptq(w, None, s, bits=4.0), "bits is 4.0; expected a whole number"),
    (lambda w, s: weights.from_gptq(w, None, s, bits=3), "bits is 3; expected 4 or 8"),
    (lambda w, s: weights.from_bnb_nf4(w, s, n="64", k=64), "n is '64'; expected a whole number"),
    (lambda w, s: weights.sizes("64", 64, "s4"), "n is '64'; expected a whole number"),
    (lambda w, s: weights.sizes(64, 128, "s4", "128"), "group is '128'; expected a whole number"),
    (lambda w, s: weights.sizes(64, 2**64 + 64, "s4"), "k is 18446744073709551680; expected a whole number of 64 bits"),
    (lambda w, s: weights.sizes(64, 128, 4), "type is 4; expected a text such as 's4'"),
    (lambda w, s: weights.sizes(64, 128, "s4", dtype=16), "dtype is 16; expected a text such as 'f16'"),
    (lambda w, s: weights.pack(w, s, type=None), "type is None; expected a text such as 's4'"),
    (lambda w, s: weights.pack(w, s, type="u4", k="128"), "k is '128'; expected a whole number"),
    (lambda w, s: weights.pack([[1]], s, type="u4"), "codes is a builtins.list; expected an array"),
    (lambda w, s: weights.pack(s, s, type="u4", k=128), "codes is of f32; expected s8 or u8, two codes a byte"),
])
def test_numbers_and_texts_are_checked_before_C_sees_them(real, call, says):
    given = Host("|u1", (64, 64), [1] * 4096), Host("<f4", (64,), [1.0] * 64)
    if "bits" in says:
        given = Host("<i4", (8, 64), [0] * 512), given[1]
    with pytest.raises((TypeError, ValueError), match=says):
        call(*given)


class Typed:
    """Says that it is of another type than ours."""

    def __init__(self, typestr, shape):
        self.cells = (ctypes.c_uint8 * 65536)()
        self.__array_interface__ = {"shape": shape, "typestr": typestr, "data": (ctypes.addressof(self.cells), False), "version": 3}


def test_an_unknown_type_is_told_with_those_that_would_do(real):
    scales = Host("<f4", (64,), [1.0] * 64)
    for call, says in ((lambda: weights.from_gptq(Typed("<i8", (8, 64)), None, scales), "qweight is of s64; expected s32"),
                       (lambda: weights.from_gptq(Typed("<f4", (8, 64)), None, scales), "qweight is of f32; expected s32"),
                       (lambda: weights.from_gguf(Typed("<f2", (8, 36)), "Q4_0"), "blocks is of f16; expected u8"),
                       (lambda: weights.pack(Typed("<i8", (64, 64)), scales, type="u4"), "codes is of s64; expected s8 or u8 or e4m3"),
                       (lambda: weights.pack(Typed("|u1", (64, 64)), Typed("<i8", (64,)), type="u4"), "scales is of s64; expected f16 or bf16 or f32"),
                       (lambda: weights.pack(Typed("|u1", (64, 64)), Typed(">f4", (64,)), type="u4"), "scales is of '>f4'; expected f16 or bf16 or f32"),
                       (lambda: weights.from_bnb_nf4(Typed("|u1", (64, 32)), Typed("<i4", (64,)), n=64, k=64), "absmax is of s32; expected f32")):
        with pytest.raises((TypeError, ValueError), match=f"^{says}$"):
            call()
    assert weights.from_gptq(Typed("<u4", (8, 64)), None, scales).text == "s4_column+f32"  # the same bits


def test_arrays_with_strides_are_packed_where_they_say_so(real):
    codes, scales = Typed("|u1", (16, 64)), Host("<f4", (16,), [1.0] * 16)
    codes.__array_interface__["strides"] = (64, 1)
    assert weights.pack(codes, scales, type="u4").text == "u4_column+f32"
    codes.__array_interface__.update(shape=(1, 16, 64), strides=(3, 64, 1))
    assert weights.pack(codes, Host("<f4", (1, 16), [1.0] * 16), type="u4").experts == 1
    codes.__array_interface__.update(shape=(16, 64), strides=(128, 1))
    with pytest.raises(ValueError, match="^codes is not packed; expected contiguous rows$"):
        weights.pack(codes, scales, type="u4")


@pytest.mark.parametrize("bits", [4, 8])
def test_gptq_zero_points_wrap_and_those_of_version_2_are_found(real, bits):
    n, k, in_word = 16, 64, 32 // bits
    codes, scales, middle = Host("<i4", (k // in_word, n), [0] * (k // in_word * n)), Host("<f4", (1, n), [1.0] * n), 1 << bits - 1

    def zeros(stored, **how):
        field = sum(stored << bits * i for i in range(in_word))
        made = weights.from_gptq(codes, Host("<i4", (1, n // in_word), [signed(field)] * (n // in_word)), scales, bits=bits, **how)
        return made.zeros if made.zeros is None else struct.unpack(f"<{n}f", made.zeros.tobytes())[0] + (128 if bits == 8 else 0)

    assert zeros(2 * middle - 1) == 0 and zeros(0) == 1 and zeros(middle - 1) is None  # symmetric
    with pytest.raises(tilesmith.Error, match=f"^zeros are {middle + 1} everywhere, one above the middle: version 2?"):
        zeros(middle)
    assert zeros(middle, v2=True) is None and zeros(0, v2=True) == 0 and zeros(2 * middle - 1, v2=True) == 2 * middle - 1
