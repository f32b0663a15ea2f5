"""Every wrong input is one line that says what was expected, and nothing is launched."""

import pytest

import tilesmith
from arrays import Array


def arguments(**changed):
    usual = dict(a=Array((4, 8)), b=Array((8, 6)), out=Array((4, 6)))
    usual.update(changed)
    return usual


WRONG = {
    "a list": (dict(a=[[1.0]]), TypeError, "a is a builtins.list; expected an array on a CUDA device"),
    "a vector": (dict(a=Array((8,))), ValueError, "a has 1 dimensions, 8; expected 2, or 3 of a batch"),
    "other k": (dict(b=Array((7, 6))), ValueError, "a is 4x8 and b 7x6; expected as many columns of a as rows of b"),
    "two types": (dict(b=Array((8, 6), "f8")), ValueError, "a is f32 and b f64; expected one type for both"),
    "integers": (dict(a=Array((4, 8), "i4"), b=Array((8, 6), "i4")), ValueError, "a and b are s32; expected one of f64, f32"),
    "output type": (dict(out=Array((4, 6), "f8")), ValueError, "the output is f64; expected f32 of a product of f32"),
    "output shape": (dict(out=Array((6, 4))), ValueError, "out is 6x4; expected 4x6"),
    "read-only": (dict(out=Array((4, 6), read_only=True)), ValueError, "out is read-only; expected an array that may be written"),
    "out and out_dtype": (dict(out_dtype="f16"), ValueError, "out is f32 and out_dtype f16; expected one of them, or the same"),
    "out_dtype": (dict(out=None, out_dtype="int5"), TypeError, "out_dtype is 'int5'; expected a dtype"),
    "no output of products": (dict(out=None, out_dtype="int64"), ValueError, "the output is s64; expected f32 of a product of f32"),
    "every other": (dict(a=Array((4, 8), strides=(16, 2))), ValueError, "a is 4x8 with strides (16, 2); expected rows or columns that are contiguous"),
    "rows overlap": (dict(a=Array((4, 8), strides=(4, 1))), ValueError, "a is 4x8 with strides (4, 1); expected rows or columns"),
    "nobody allocates": (dict(out=None), TypeError, "out is None, and arrays of arrays are not allocated here; expected out, 4x6 of f32"),
    "activation": (dict(activation="tanh"), ValueError, "activation is 'tanh'; expected None, 'relu'"),
    "compute": (dict(compute="f16"), ValueError, "compute is 'f16'; expected None or 'f32' or 'tf32' or 'f32x3' for f32 to f32"),
    "bias length": (dict(bias=Array((5,))), ValueError, "bias is 5; expected 6 elements, one a column of the product, or 4x1, one a row"),
    "bias type": (dict(bias=Array((6,), "f8")), ValueError, "bias is f64; expected f32, as out"),
    "bias strides": (dict(bias=Array((6,), strides=(2,))), ValueError, "bias has elements 2 apart; expected a contiguous vector"),
    "bias matrix": (dict(bias=Array((4, 6))), ValueError, "bias is 4x6; expected a vector"),
    "scale length": (dict(scale_m=Array((3,))), ValueError, "scale_m is 3; expected one element, or 4, one for a row"),
    "scale type": (dict(scale_n=Array((6,), "f8")), ValueError, "scale_n is f64; expected f32"),
    "c shape": (dict(c=Array((6, 4)), beta=1), ValueError, "c is 6x4 of f32; expected 4x6 of f32, as out"),
    "c strides": (dict(c=Array((4, 6), strides=(8, 1)), beta=1), ValueError, "c has strides (8, 1); expected those of out, (6, 1)"),
    "nothing to add to": (dict(out=None, beta=1), ValueError, "beta is not 0, and neither c nor out is there"),
    "alpha": (dict(alpha="2"), TypeError, "alpha or beta is '2'; expected a number"),
    "half on the device": (dict(alpha=Array((1,)), beta=1), TypeError, "one of alpha and beta is an array and the other a number"),
    "alpha of two": (dict(alpha=Array((2,))), ValueError, "alpha has 2 elements; expected one, or a number"),
    "alpha's type": (dict(alpha=Array((1,), "f8")), ValueError, "alpha is f64; expected f32 in device memory for f32f32"),
    "gate of odd": (dict(b=Array((8, 5)), out=Array((4, 2)), activation="swiglu"), ValueError, "b has 5 columns; expected an even number for swiglu"),
    "gate and beta": (dict(out=Array((4, 3)), activation="swiglu", beta=1), ValueError, "beta is not 0; expected 0 with swiglu"),
    "gate by columns": (dict(out=Array((4, 3), strides=(1, 4)), activation="swiglu"), ValueError, "out has contiguous columns; expected contiguous rows"),
    "batches": (dict(a=Array((2, 4, 8)), b=Array((3, 8, 6)), out=Array((2, 4, 6))), ValueError, "expected as many entries of both"),
    "groups of one": (dict(offsets=Array((1,), "i4")), ValueError, "expected 2 and 3 dimensions with offsets"),
    "ends": (dict(b=Array((2, 8, 6)), offsets=Array((3,), "i4")), ValueError, "offsets is 3 of s32; expected 2 of s32"),
    "type of ends": (dict(b=Array((2, 8, 6)), offsets=Array((2,))), ValueError, "offsets is 2 of f32; expected 2 of s32"),
    "stream": (dict(stream="s"), TypeError, "stream is a str; expected a number or an object with cuda_stream"),
    "bias of a batch": (dict(a=Array((6, 4, 8)), b=Array((6, 8, 6)), out=Array((6, 4, 6)), bias=Array((6, 1, 1))), ValueError, "bias is 6x1x1; expected 6 elements"),
    "stream below 0": (dict(stream=-1), (ValueError), "stream is -1; expected a cudaStream_t as a number"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_input(library, stand_in, name):
    changed, kind, line = WRONG[name]
    operands = arguments(**changed)
    for _ in range(2):  # what is refused is kept too
        with pytest.raises(kind) as caught:
            library.gemm(**operands)
        assert line in str(caught.value) and "\n" not in str(caught.value)
    assert stand_in.record.runs == 0


def test_an_element_type_that_there_is_not(library):
    class Complex(Array):
        @property
        def __cuda_array_interface__(self):
            return {**super().__cuda_array_interface__, "typestr": "<c8"}

    with pytest.raises(TypeError, match="^a: an element is of type '<c8'; expected one of f64, f32"):
        library.gemm(**arguments(a=Complex((4, 8))))


def test_a_call_that_fails_says_why(library, stand_in):
    stand_in.tell("next_status", 5)
    with pytest.raises(tilesmith.Error, match="^the stand-in was told to fail$"):
        library.gemm(**arguments())
    library.gemm(**arguments())


def test_a_closed_library_is_refused(stand_in):
    library = tilesmith.open()
    library.close()
    library.close()
    with pytest.raises(tilesmith.Error, match="library is null"):
        library.gemm(**arguments())
    with pytest.raises(tilesmith.Error, match="the library is closed; expected an open one"):
        library.device
    assert stand_in.record.opened == 0


def test_an_unknown_argument_is_named(library):
    with pytest.raises(TypeError, match="unknown argument epilogue; expected alpha, beta"):
        library.prepare(**arguments(epilogue="relu"))


@pytest.mark.parametrize("given, says", [
    (dict(m="64"), "m is '64'; expected a whole number"), (dict(k=4.0), "k is 4.0; expected a whole number"), (dict(n=2**64 + 8), "n is 18446744073709551624; expected a whole"),
    (dict(type=5), "type is 5; expected a text such as 'f16f32f16'"), (dict(transposes=None), "transposes is None; expected a text such as 'NT'"),
    (dict(lda="8"), "lda is '8'; expected a whole number"), (dict(align_bytes=2**32 + 16), "align_bytes is 4294967312; expected a whole number of 32 bits"),
    (dict(batch=2.5), "batch is 2.5; expected a whole"), (dict(batch=2, stride_a="1"), "stride_a is '1'; expected a whole"), (dict(groups="2"), "groups is '2'"),
    (dict(weights=4), "weights is 4; expected a text such as 's4_g128'"), (dict(weights="s4_g128", groups=2.0), "groups is 2.0"),
])
def test_a_field_of_a_problem_that_C_would_wrap_or_refuse_is_told(stand_in, given, says):
    usual = dict(type="f16f32f16", transposes="NT", m=8, n=8, k=128)
    with pytest.raises((TypeError, ValueError), match=says):
        tilesmith.Problem(**{**usual, **given})


def test_scalars_and_options_that_C_would_wrap_are_told(library):
    integers = dict(a=Array((4, 8), "i1"), b=Array((8, 6), "i1"), out=Array((4, 6), "i4"))
    with pytest.raises(ValueError, match=r"^alpha or beta is 4294967298; expected a whole number of 32 bits$"):
        library.gemm(**integers, alpha=2**32 + 2)
    with pytest.raises(TypeError, match="^alpha or beta is 2.5; expected a whole number$"):
        library.gemm(**integers, alpha=2.5)
    with pytest.raises(TypeError, match="^device is '0'; expected a whole number$"):
        tilesmith.open(device="0")
