"""tilesmith.weights: repacking by the real library in host memory, products by the stand-in."""

import ctypes
import struct

import pytest

import tilesmith
from arrays import Array, Capsule
from tilesmith import _abi, weights


class Host:
    """A matrix in host memory with __array_interface__, of ctypes cells."""

    def __init__(self, typestr, shape, values):
        kind = {"|u1": ctypes.c_uint8, "|i1": ctypes.c_int8, "<i4": ctypes.c_int32, "<f4": ctypes.c_float, "<f2": ctypes.c_uint16, "<i2": ctypes.c_int16}[typestr]
        self.cells = (kind * len(values))(*values)
        self.__array_interface__ = {"shape": shape, "typestr": typestr, "data": (ctypes.addressof(self.cells), False), "version": 3}


def code(i, j, below=16):
    return (i * 2654435761 + j * 40503 + 12345 >> 7) % below


def canonical(bits, n, k, padding, value):
    """By the words of tilesmith_weights.h."""
    columns = 64 if bits == 4 else 32
    across = -(-k // columns)
    made = bytearray(512 * -(-n // 16) * across)
    for block in range(len(made) // 512):
        row0, column0 = block // across * 16, block % across * columns
        for lane in range(32):
            g, t = divmod(lane, 4)
            for step in range(columns // 16):
                pairs = []
                for i in range(4):
                    row, column = row0 + g + 8 * (i & 1), column0 + 16 * step + 2 * t + 8 * (i >> 1)
                    pairs.append([value(row, column + hi) if row < n and column + hi < k else padding for hi in (0, 1)])
                at = 512 * block + 16 * lane + step * (4 if bits == 4 else 8)
                if bits == 4:
                    word = sum(lo << 4 * i | hi << 4 * (i + 4) for i, (lo, hi) in enumerate(pairs))
                    made[at:at + 4] = struct.pack("<I", word)
                else:
                    made[at:at + 8] = bytes(byte for pair in pairs for byte in pair)
    return bytes(made)


def signed(word):
    return word - (1 << 32) if word >= 1 << 31 else word


def test_bytes_and_nibbles_are_packed(real):
    n, k = 20, 70
    scales = Host("<f4", (n,), [1 + i / 8 for i in range(n)])
    made = weights.pack(Host("|u1", (n, k), [code(i, j) for i in range(n) for j in range(k)]), scales, type="u4")
    assert made.codes.tobytes() == canonical(4, n, k, 0, code)
    assert (made.text, made.n, made.k, made.on_host) == ("u4_column+f32", n, k, True)
    assert made.scales.tobytes() == bytes(scales.cells)
    nibbles = Host("|u1", (n, k // 2), [code(i, 2 * j) | code(i, 2 * j + 1) << 4 for i in range(n) for j in range(k // 2)])
    assert weights.pack(nibbles, scales, type="u4", k=k).codes.tobytes() == made.codes.tobytes()
    whole = Host("|i1", (n, k), [code(i, j, 256) - 128 for i in range(n) for j in range(k)])
    made = weights.pack(whole, scales, type="s8", dtype="f16")
    assert made.codes.tobytes() == canonical(8, n, k, 128, lambda i, j: code(i, j, 256))
    assert made.text == "s8_column" and made.scales.tobytes()[:4] == struct.pack("<2e", 1, 1.125)


def test_gptq_is_symmetric_where_all_zeros_are_8(real):
    n, k, groups = 16, 64, 2
    qweight = [signed(sum(code(i, 8 * w + b) << 4 * b for b in range(8))) for w in range(k // 8) for i in range(n)]
    scales = Host("<f2", (groups, n), [0x3c00 + i for i in range(groups * n)])
    sevens = Host("<i4", (groups, n // 8), [0x77777777] * (groups * n // 8))
    made = weights.from_gptq(Host("<i4", (k // 8, n), qweight), sevens, scales, Host("<i4", (k,), [j // 32 for j in range(k)]))
    assert (made.text, made.scale_type) == ("s4_g32", "f16")
    assert made.codes.tobytes() == canonical(4, n, k, 8, code)
    assert made.scales.tobytes() == bytes(scales.cells)
    other = Host("<i4", (groups, n // 8), [0x77777777] * 3 + [0x12345670])
    made = weights.from_gptq(Host("<i4", (k // 8, n), qweight), other, scales)
    assert made.text == "u4_g32+zeros"
    assert made.zeros.tobytes()[-16:] == struct.pack("<8e", 1, 8, 7, 6, 5, 4, 3, 2)
    made = weights.from_gptq(Host("<i4", (k // 8, n), qweight), other, scales, v2=True)
    assert made.zeros.tobytes()[-16:] == struct.pack("<8e", 0, 7, 6, 5, 4, 3, 2, 1)
    with pytest.raises(tilesmith.Error, match=r"^g_idx\[33\] is 0: expected 1, columns in the order of their groups"):
        weights.from_gptq(Host("<i4", (k // 8, n), qweight), sevens, scales, Host("<i4", (k,), [0 if j == 33 else j // 32 for j in range(k)]))


def test_awq_has_its_own_order(real):
    n, k, order = 16, 32, (0, 2, 4, 6, 1, 3, 5, 7)
    def word(row, w):
        return signed(sum(code(8 * w + order[b], row) << 4 * b for b in range(8)))
    made = weights.from_awq(Host("<i4", (k, n // 8), [word(j, w) for j in range(k) for w in range(n // 8)]),
                            Host("<i4", (1, n // 8), [word(99, w) for w in range(n // 8)]), Host("<f2", (1, n), [0x3c00] * n))
    assert made.text == "u4_column+zeros"
    assert made.codes.tobytes() == canonical(4, n, k, 0, code)
    assert made.zeros.tobytes() == struct.pack("<16e", *(code(i, 99) for i in range(n)))


def test_gguf_blocks_bring_their_scales(real):
    n, k = 3, 64
    blocks = b""
    for i in range(n):
        for b in range(2):
            blocks += struct.pack("<e", 2 ** b) + bytes(code(i, 32 * b + j) | code(i, 32 * b + j + 16) << 4 for j in range(16))
    made = weights.from_gguf(Host("|u1", (n, len(blocks) // n), list(blocks)), "Q4_0")
    assert made.text == "s4_g32" and made.codes.tobytes() == canonical(4, n, k, 8, code)
    assert made.scales.tobytes() == struct.pack("<6e", 1, 1, 1, 2, 2, 2)
    with pytest.raises(ValueError, match="kind is 'Q5_K'; expected 'Q4_0', 'Q8_0', 'Q4_K' or 'Q6_K'"):
        weights.from_gguf(Host("|u1", (1, 18), [0] * 18), "Q5_K")


def q4k_block(i, b):
    """The bytes of a block of Q4_K, its scales, minima and factors."""
    scales, minima = [code(i, 8 * b + g, 64) for g in range(8)], [code(i + 9, 8 * b + g, 64) for g in range(8)]
    d, dmin = (code(i, b, 99) + 1) / 64, -(code(i, b + 1, 99) + 1) / 32
    packed = [scales[g] | scales[g + 4] >> 4 << 6 for g in range(4)] + [minima[g] | minima[g + 4] >> 4 << 6 for g in range(4)]
    packed += [scales[g] & 15 | (minima[g] & 15) << 4 for g in range(4, 8)]
    nibbles = bytes(code(i, 256 * b + 64 * run + j) | code(i, 256 * b + 64 * run + j + 32) << 4 for run in range(4) for j in range(32))
    return struct.pack("<2e", d, dmin) + bytes(packed) + nibbles, scales, minima, struct.pack("<2e", d, dmin)


def test_blocks_of_q4_k_bring_scales_and_factors(real):
    n, k = 3, 512
    parts = [[q4k_block(i, b) for b in range(k // 256)] for i in range(n)]
    blocks = Host("|u1", (n, k // 256 * 144), [byte for row in parts for block in row for byte in block[0]])
    scales = b"".join(bytes((parts[i][g // 8][1][g % 8], parts[i][g // 8][2][g % 8])) for g in range(k // 32) for i in range(n))
    for dtype in ("f16", "bf16", "f32"):
        made = weights.from_gguf(blocks, "Q4_K", dtype=dtype)
        assert (made.text, made.type, made.group, made.scale_type) == ("q4_k", "q4_k", 32, "s16")
        assert made.codes.tobytes() == canonical(4, n, k, 0, code) and made.scales.tobytes() == scales
        assert made.zeros.tobytes() == b"".join(parts[i][b][3] for b in range(k // 256) for i in range(n))
        assert (made.scales.shape, made.zeros.shape) == ((k // 32, n), (k // 256, n))
    assert weights.sizes(n, k, "q4_k", 32, zeros=True) == (512 * k // 64, (k // 32, n))
    experts = Host("|u1", (n, 1, k // 256 * 144), list(blocks.cells))
    assert weights.from_gguf(experts, "Q4_K").zeros.shape == (n, k // 256, 1)


def test_blocks_of_q6_k_bring_scales_and_factors(real):
    n, k = 3, 512
    rows = [b"".join(bytes(code(i, j + 210 * b, 256) for j in range(208)) + struct.pack("<e", (code(i, b, 99) + 1) / 64) for b in range(k // 256)) for i in range(n)]
    blocks = Host("|u1", (n, k // 256 * 210), list(b"".join(rows)))
    for dtype in ("f16", "bf16", "f32"):
        made = weights.from_gguf(blocks, "Q6_K", dtype=dtype)
        assert (made.text, made.type, made.group, made.scale_type) == ("q6_k", "q6_k", 16, "s32")
        assert (len(made.codes.tobytes()), made.scales.shape, made.zeros.shape) == (768 * k // 64, (k // 64, n), (k // 256, n))
        assert made.scales.tobytes() == b"".join(rows[i][s // 4 * 210 + 192 + s % 4 * 4:][:4] for s in range(k // 64) for i in range(n))
        assert made.zeros.tobytes() == b"".join(rows[i][b * 210 + 208:][:2] for b in range(k // 256) for i in range(n))
    assert weights.sizes(n, k, "q6_k", 16, zeros=True) == (768 * k // 64, (k // 64, n))
    with pytest.raises(ValueError, match="blocks is 2x209; expected rows of whole blocks, 210 bytes each"):
        weights.from_gguf(Host("|u1", (2, 209), [0] * 418), "Q6_K")
    with pytest.raises(tilesmith.Error, match="block 0 of row 0 has d inf: expected finite numbers; nothing was repacked"):
        weights.from_gguf(Host("|u1", (1, 210), [0] * 209 + [0x7c]), "Q6_K")


@pytest.mark.parametrize("shape, how, says", [
    ((2, 143), {}, "blocks is 2x143; expected rows of whole blocks, 144 bytes each"),
    ((1, 144), dict(dtype="e4m3"), "a_bits is 8 and type of weights q4_k: expected s4, u4 or e2m1"),
    ((1, 144), dict(dtype="f64"), "scale_type is 'f64': expected f16, bf16 or f32"),
])
def test_wrong_blocks_of_q4_k_are_refused(real, shape, how, says):
    with pytest.raises((ValueError, tilesmith.Error), match=says):
        weights.from_gguf(Host("|u1", shape, [0] * (shape[0] * shape[1])), "Q4_K", **how)


def test_factors_of_q4_k_that_are_no_numbers_are_refused(real):
    block = bytearray(q4k_block(0, 0)[0])
    block[1] = 0x7e
    with pytest.raises(tilesmith.Error, match="block 0 of row 0 has d nan and dmin -.*: expected finite numbers; nothing was repacked"):
        weights.from_gguf(Host("|u1", (1, 144), list(block)), "Q4_K")


def test_mxfp4_stays_in_4_bits_or_becomes_e4m3(real):
    n, k = 2, 64
    blocks = Host("|u1", (n, k // 2), [code(i, 2 * j) | code(i, 2 * j + 1) << 4 for i in range(n) for j in range(k // 2)])
    made = weights.from_mxfp4(blocks, Host("|u1", (n, 2), [127, 128, 129, 120]), type="e4m3", dtype="f32")
    magnitudes = (0, 0x30, 0x38, 0x3c, 0x40, 0x44, 0x48, 0x4c)
    assert made.codes.tobytes() == canonical(8, n, k, 0, lambda i, j: magnitudes[code(i, j) & 7] | (code(i, j) & 8) << 4)
    assert made.text == "e4m3_g32+f32" and made.scales.tobytes() == struct.pack("<4f", 1, 4, 2, 2**-7)
    made = weights.from_mxfp4(blocks, Host("|u1", (n, 2), [127, 128, 129, 120]), dtype="f16")
    assert made.codes.tobytes() == canonical(4, n, k, 0, code)
    assert made.text == "e2m1_g32" and made.scales.tobytes() == struct.pack("<4e", 1, 4, 2, 2**-7)
    with pytest.raises(tilesmith.Error, match=r"^scales\[1\]\[1\] is 2\^16: expected 2\^-24 to 2\^15, which scale_type f16 holds"):
        weights.from_mxfp4(blocks, Host("|u1", (n, 2), [127, 128, 129, 143]), dtype="f16")


def test_nf4_of_bitsandbytes_has_its_first_element_high(real):
    n, k = 18, 128
    packed = [code(i, 2 * j) << 4 | code(i, 2 * j + 1) for i in range(n) for j in range(k // 2)]
    absmax = Host("<f4", (2 * n,), [1 + i / 8 for i in range(2 * n)])
    made = weights.from_bnb_nf4(Host("|u1", (n * k // 2, 1), packed), absmax, n=n, k=k)
    assert made.text == "nf4_g64+f32" and made.codes.tobytes() == canonical(4, n, k, 7, code)
    assert made.scales.tobytes() == struct.pack("<36f", *(1 + (2 * i + g) / 8 for g in range(2) for i in range(n)))
    assert weights.from_bnb_nf4(Host("|u1", (n, k // 2), packed), absmax, n=n, k=k, dtype="bf16").text == "nf4_g64"
    with pytest.raises(ValueError, match="absmax has 36 values; expected the same number for each of 17 rows, blocks that divide k, 128"):
        weights.from_bnb_nf4(Host("|u1", (n, k // 2), packed), absmax, n=17, k=k)
    with pytest.raises(tilesmith.Error, match="^codes is 1152x1: expected 18x128"):
        weights.from_bnb_nf4(Host("|u1", (n * k // 2, 1), packed), absmax, n=n, k=2 * k)


@pytest.mark.parametrize("edit, line", [
    (dict(scales=Host("<f4", (3, 16), [1] * 48)), "scales have 3 groups; expected a number of groups that divides k, 64"),
    (dict(scales=Host("<f4", (4, 16), [1] * 64)), "group is 16: expected 32, 64, 128, or 0 for the whole row of weights"),
    (dict(scales=Host("|i1", (16,), [1] * 16)), "scale_type is 's8': expected f16, bf16 or f32"),
    (dict(zeros=Host("<f4", (2, 16), [1] * 32)), "zeros is 2x16: expected 1x16"),
    (dict(type="s5"), "type of weights is 's5': expected s4, u4, s8, e4m3, e2m1, nf4, q4_k or q6_k"),
])
def test_what_does_not_fit_is_one_line(real, edit, line):
    given = dict(codes=Host("|u1", (16, 64), [0] * 1024), scales=Host("<f4", (16,), [1] * 16), type="u4", **edit) if "scales" not in edit and "type" not in edit \
        else {**dict(codes=Host("|u1", (16, 64), [0] * 1024), scales=Host("<f4", (16,), [1] * 16), type="u4"), **edit}
    with pytest.raises((ValueError, tilesmith.Error), match="^" + line.replace("(", r"\(")) as caught:
        weights.pack(**given)
    assert "\n" not in str(caught.value)


def test_linear_runs_a_problem_with_weights(stand_in):
    codes, scales = Array((4096,), "u1"), Array((1, 128), "f2")
    held = weights.Weights("s4", 128, 64, 0, "f16", codes, scales, None)
    x, out = Array((5, 64), "f2"), Array((5, 128), "f2")
    library = tilesmith.open()
    assert weights.linear(x, held, out, library=library) is out
    on, args = stand_in.problem, stand_in.record.args
    assert (on.type, on.transposes, on.m, on.n, on.k) == (b"f16f32f16", b"NT", 5, 128, 64)
    assert on.weights == b"s4_column"
    assert (args.a, args.b, args.d, args.weight_scales, args.weight_zeros) == (x.address, codes.address, out.address, scales.address, None)
    for wrong, line in ((Array((5, 32), "f2"), "x is 5x32; expected contiguous rows of 64 elements"), (Array((5, 64), "f4"), "x is of f32; expected f16 or bf16")):
        with pytest.raises(ValueError, match=line):
            weights.linear(wrong, held, out, library=library)
    with pytest.raises(ValueError, match="out is 5x64 of f16; expected 5x128 of f16"):
        weights.linear(x, held, Array((5, 64), "f2"), library=library)
    with pytest.raises(ValueError, match="bias has 64 elements; expected 128"):
        weights.linear(x, held, out, bias=Array((64,), "f2"), library=library)
    weights.linear(x, held, out, bias=Array((128,), "f4"), activation="silu", library=library)
    assert (stand_in.problem.bias, stand_in.problem.activation) == (1, 4) and stand_in.problem.bias_is_f32 == 1
    library.close()


@pytest.mark.parametrize("type, group, block, scales, zeros", [("q4_k", 32, 512, Array((8, 128), "i2"), Array((1, 128), "i4")),
                                                               ("q6_k", 16, 768, Array((4, 128), "i4"), Array((1, 128), "i2"))])
def test_linear_multiplies_k_quants_with_either_type(stand_in, type, group, block, scales, zeros):
    codes = Array((block * 8 * 4,), "u1")
    held = weights.Weights(type, 128, 256, group, "s16" if type == "q4_k" else "s32", codes, scales, zeros)
    library = tilesmith.open()
    x, out = Array((5, 256), "f2"), Array((5, 128), "f2")
    assert weights.linear(x, held, out, library=library) is out
    args = stand_in.record.args
    assert (stand_in.problem.weights, stand_in.problem.k) == (type.encode(), 256)
    assert (args.b, args.weight_scales, args.weight_zeros) == (codes.address, scales.address, zeros.address)
    with pytest.raises(ValueError, match="x is of f32; expected f16 or bf16"):
        weights.linear(Array((5, 256), "f4"), held, out, library=library)
    library.close()


def test_a_problem_with_weights_is_a_line_of_a_workload(stand_in):
    problem = tilesmith.Problem("bf16f32bf16", "NT", 8, 4096, 4096, weights="u4_g128+zeros")
    assert str(problem) == "bf16f32bf16 NT 8 4096 4096 weights=u4_g128+zeros"
    experts = tilesmith.Problem("bf16f32bf16", "NT", 8, 768, 2048, groups=128, weights="s4_g128", activation="swiglu")
    assert str(experts) == "bf16f32bf16 NT 8 768 2048 batch=128 epilogue=swiglu batch_mode=grouped weights=s4_g128"
    assert experts != tilesmith.Problem("bf16f32bf16", "NT", 8, 768, 2048, groups=64, weights="s4_g128", activation="swiglu")
    assert tilesmith.Problem("bf16f32bf16", "NT", 8, 768, 2048, groups=0, weights="s4_g128").is_empty
    with pytest.raises(ValueError, match="stride_b is 0; expected none of weights"):
        tilesmith.Problem("bf16f32bf16", "NT", 8, 768, 2048, groups=2, weights="s4_g128", stride_b=0)


def test_experts_are_packed_one_behind_the_other(real):
    experts, n, k = 3, 20, 64
    codes = Host("|u1", (experts, n, k), [code(e * n + i, j) for e in range(experts) for i in range(n) for j in range(k)])
    made = weights.pack(codes, Host("<f4", (experts, 2, n), range(experts * 2 * n)), Host("<f4", (experts, 2, n), [3] * (experts * 2 * n)), type="u4")
    assert made.text == "u4_g32+zeros+f32" and made.experts == 3 and repr(made) == "<tilesmith.weights.Weights 3 experts of 20x64 u4_g32+zeros+f32 of f32>"
    assert made.codes.tobytes() == b"".join(canonical(4, n, k, 0, lambda i, j, e=e: code(e * n + i, j)) for e in range(experts))
    assert made.scales.tobytes() == struct.pack(f"<{experts * 2 * n}f", *range(experts * 2 * n)) and tuple(made.scales.shape) == (3, 2, 20)
    one_a_row = weights.pack(codes, Host("<f4", (experts, n), [1] * (experts * n)), Host("<f4", (experts, n), [1] * (experts * n)), type="u4")
    assert one_a_row.text == "u4_column+zeros+f32" and tuple(one_a_row.scales.shape) == (3, 1, 20)
    with pytest.raises(ValueError, match="arrays have 3 and 2 experts; expected as many each"):
        weights.pack(codes, Host("<f4", (2, 2, n), [1] * (4 * n)), type="s4")
    with pytest.raises(ValueError, match="expected 2 dimensions, or experts before them"):
        weights.pack(Host("|u1", (1, 1, 1, 1), [1]), Host("<f4", (1,), [1]), type="u4")


def test_linear_of_experts_takes_the_ends_of_their_rows(stand_in):
    codes, scales = Array((4, 4096), "u1"), Array((4, 1, 128), "f2")
    held = weights.Weights("s4", 128, 64, 0, "f16", codes, scales, None, 4)
    x, out, ends = Array((50, 64), "f2"), Array((50, 128), "f2"), Array((4,), "i4")
    library = tilesmith.open()
    assert weights.linear(x, held, out, offsets=ends, library=library) is out
    on, args = stand_in.problem, stand_in.record.args
    assert (on.type, on.m, on.n, on.k, on.batch_mode, on.batch, on.weights) == (b"f16f32f16", 50, 128, 64, _abi.GROUPED, 4, b"s4_column")
    assert (args.a, args.b, args.d, args.offsets, args.weight_scales) == (x.address, codes.address, out.address, ends.address, scales.address)
    for wrong, line in ((None, "weights are of 4 experts; expected offsets"), (Array((3,), "i4"), "offsets is 3 of s32; expected 4 of s32"),
                        (Array((4,), "f4"), "offsets is 4 of f32; expected 4 of s32")):
        with pytest.raises(ValueError, match=line):
            weights.linear(x, held, out, offsets=wrong, library=library)
    with pytest.raises(ValueError, match="offsets are given; expected weights of experts"):
        weights.linear(x, weights.Weights("s4", 128, 64, 0, "f16", codes, scales, None), out, offsets=ends, library=library)
    library.close()


def test_what_is_made_goes_where_it_is_wanted(real):
    n, k = 16, 128
    values = [code(i, j) for i in range(n) for j in range(k)]
    scales = Host("<f4", (2, n), [1.0] * (2 * n))
    size, shape = weights.sizes(n, k, "u4", 64, zeros=True, dtype="f32")
    assert (size, shape) == (512 * 2, (2, n))
    to = [Host("|u1", (size + 16,), [0] * (size + 16)), Host("<f4", shape, [0.0] * 32), Host("<f4", shape, [0.0] * 32)]
    aligned = -ctypes.addressof(to[0].cells) % 16
    to[0].__array_interface__ = {**to[0].__array_interface__, "shape": (size,), "data": (ctypes.addressof(to[0].cells) + aligned, False)}
    held = weights.pack(Host("|u1", (n, k), values), scales, Host("<f4", (2, n), [3.0] * 32), type="u4", out=to)
    assert (held.codes, held.scales, held.zeros) == tuple(to)
    assert bytes(to[0].cells)[aligned:aligned + size] == canonical(4, n, k, 0, lambda i, j: code(i, j))
    assert list(to[1].cells) == [1.0] * 32 and list(to[2].cells) == [3.0] * 32
    # The first has bytes enough, should it not be refused.
    for part, wrong, line in ((1, Host("<f4", (n, 2), [0.0] * 32), "scales to make is 16x2 of f32; expected 2x16 of f32"),
                              (0, Host("|u1", (512,), [0] * 512), "codes to make is 1x512 of u8; expected 1024 of u8"),
                              (2, Array(shape, "f4"), "zeros to make is in device memory; expected it where the codes are")):
        others = [*to]
        others[part] = wrong
        with pytest.raises(ValueError, match=line):
            weights.pack(Host("|u1", (n, k), values), scales, Host("<f4", (2, n), [3.0] * 32), type="u4", out=others)


def test_operands_of_other_libraries_are_multiplied(stand_in):
    codes, scales, x, out = Array((4096,), "u1"), Array((1, 128), "f2"), Array((5, 64), "f2"), Array((5, 128), "f2")
    held = weights.Weights("s4", 128, 64, 0, "f16", Capsule(codes, 1, 8), Capsule(scales, 2, 16), None)
    given = Capsule(x, 2, 16)
    with tilesmith.open() as library:
        weights.linear(given, held, out, stream=9, library=library)
        assert (stand_in.record.args.a, stand_in.record.args.b, stand_in.record.args.weight_scales) == (x.address, codes.address, scales.address)
        assert given.streams == [9] and stand_in.record.stream == 9
        with pytest.raises(TypeError, match="out is None, and arrays of arrays are not allocated here; expected out, 5x128 of f16"):
            weights.linear(x, held, library=library)
