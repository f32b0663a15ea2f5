"""tilesmith.weights for an A of 8 bits: repacking by the real library in host memory."""

import struct

import pytest
import tilesmith
from test_weights import Host, code, signed
from tilesmith import weights


def canonical8(n, k, padding, value):
    """Codes of 4 bits for an A of 8 bits, by the words of tilesmith_weights.h."""
    across = -(-k // 64)
    made = bytearray(512 * -(-n // 16) * across)
    for block in range(len(made) // 512):
        row0, column0 = block // across * 16, block % across * 64
        for lane in range(32):
            g, t = divmod(lane, 4)
            for s in range(2):
                for later in range(2):
                    c, word = column0 + 32 * s + 4 * t + 16 * later, 0
                    for nibble in range(8):
                        row, column = row0 + g + 8 * (nibble // 4), c + nibble % 4
                        word |= (value(row, column) if row < n and column < k else padding) << 4 * nibble
                    at = 512 * block + 16 * lane + 4 * (2 * s + later)
                    made[at:at + 4] = struct.pack("<I", word)
    return bytes(made)


def test_weights_for_e4m3_have_their_own_layout(real):
    for n, k in ((20, 70), (16, 64), (1, 1), (33, 200)):
        scales = Host("<f4", (n,), [1 + i / 8 for i in range(n)])
        codes = Host("|u1", (n, k), [code(i, j) for i in range(n) for j in range(k)])
        for type, padding in (("u4", 0), ("s4", 8), ("e2m1", 0)):
            made = weights.pack(codes, scales, type=type, dtype="s8" if type == "u4" else "e4m3")
            assert made.codes.tobytes() == canonical8(n, k, padding, code), (n, k, type)
            assert (made.text, made.a_bits, made.scale_type) == (f"{type}_column+f32", 8, "f32") and made.scales.tobytes() == bytes(scales.cells)
    assert repr(made) == "<tilesmith.weights.Weights 33x200 e2m1_column+f32 of f32 for 8 bits>"
    assert weights.pack(codes, scales, type="u4").a_bits == 16
    made = weights.pack(codes, scales, type="u4", dtype="e4m3", scales_dtype="bf16")
    assert (made.text, made.scale_type, made.scales.tobytes()[:4]) == ("u4_column", "bf16", struct.pack("<2H", 0x3f80, 0x3f90))
    assert weights.pack(codes, scales, type="u4", dtype="s8", scales_dtype="bf16").key == made.key
    experts = weights.pack(Host("|u1", (3, 16, 64), [code(i, j) for i in range(48) for j in range(64)]), Host("<f4", (3, 16), [1.0] * 48), type="u4", dtype="e4m3")
    assert experts.codes.tobytes() == b"".join(canonical8(16, 64, 0, lambda i, j, e=e: code(16 * e + i, j)) for e in range(3)) and experts.experts == 3


def test_checkpoints_are_repacked_for_e4m3(real):
    n, k, groups = 16, 64, 2
    qweight = Host("<i4", (k // 8, n), [signed(sum(code(i, 8 * w + b) << 4 * b for b in range(8))) for w in range(k // 8) for i in range(n)])
    scales = Host("<f2", (groups, n), [0x3c00 + i for i in range(groups * n)])
    for zeros, text, padding in (([0x77777777] * 4, "s4_g32", 8), ([0x77777777] * 3 + [0x12345670], "u4_g32+zeros", 0)):
        made = weights.from_gptq(qweight, Host("<i4", (groups, n // 8), zeros), scales, dtype="e4m3")
        assert (made.text, made.scale_type, made.a_bits) == (text, "f16", 8) and made.codes.tobytes() == canonical8(n, k, padding, code)
    made = weights.from_gptq(qweight, None, scales, dtype="e4m3", scales_dtype="f32")
    assert made.text == "s4_g32+f32" and made.scale_type == "f32"
    order = (0, 2, 4, 6, 1, 3, 5, 7)
    words = Host("<i4", (k, n // 8), [signed(sum(code(8 * w + order[b], j) << 4 * b for b in range(8))) for j in range(k) for w in range(n // 8)])
    made = weights.from_awq(words, Host("<i4", (groups, n // 8), zeros), scales, dtype="e4m3")
    assert made.text == "u4_g32+zeros" and made.codes.tobytes() == canonical8(n, k, 0, code)
    blocks = b"".join(struct.pack("<e", 1) + bytes(code(i, 32 * b + j) | code(i, 32 * b + j + 16) << 4 for j in range(16)) for i in range(n) for b in range(2))
    made = weights.from_gguf(Host("|u1", (n, 36), list(blocks)), "Q4_0", dtype="e4m3")
    assert (made.text, made.scale_type) == ("s4_g32", "f16") and made.codes.tobytes() == canonical8(n, k, 8, code)
    nibbles = Host("|u1", (n, k // 2), [code(i, 2 * j) | code(i, 2 * j + 1) << 4 for i in range(n) for j in range(k // 2)])
    made = weights.from_mxfp4(nibbles, Host("|u1", (n, 2), [127] * 2 * n), dtype="e4m3")
    assert (made.text, made.scale_type) == ("e2m1_g32", "bf16") and made.codes.tobytes() == canonical8(n, k, 0, code)
    assert weights.sizes(n, k, "u4", 32, dtype="e4m3", scales_dtype="bf16") == weights.sizes(n, k, "u4", 32)


def test_what_cannot_be_packed_for_e4m3_is_one_line(real):
    codes, scales = Host("|u1", (16, 64), [1] * 1024), Host("<f4", (16,), [1.0] * 16)
    for call, line in (
            (lambda: weights.pack(codes, scales, type="s8", dtype="e4m3"), "a_bits is 8 and type of weights s8: expected s4, u4 or e2m1"),
            (lambda: weights.pack(codes, scales, type="e4m3", dtype="e4m3"), "a_bits is 8 and type of weights e4m3: expected s4, u4 or e2m1"),
            (lambda: weights.pack(codes, scales, type="nf4", dtype="e4m3"), "a_bits is 8 and type of weights nf4: expected s4, u4 or e2m1"),
            (lambda: weights.pack(codes, scales, Host("<f4", (16,), [7.5] * 16), type="u4", dtype="e4m3"),
             r"zeros\[0\]\[0\] is 7.5: expected whole numbers from 0 to 15 with a_bits 8; nothing was repacked"),
            (lambda: weights.pack(codes, scales, type="u4", dtype="e4m3", scales_dtype="s8"), "scale_type is 's8': expected f16, bf16 or f32"),
            (lambda: weights.pack(codes, scales, type="u4", dtype="e4m3", scales_dtype=3), "scales_dtype is 3; expected a text such as 'bf16'"),
            (lambda: weights.pack(codes, scales, type="u4", dtype="f16", scales_dtype="f16"), "scales_dtype is 'f16'; expected it with dtype='e4m3' or 's8' alone"),
            (lambda: weights.pack(codes, scales, type="u4", scales_dtype="f16"), "scales_dtype is 'f16'; expected it with dtype='e4m3' or 's8' alone"),
            (lambda: weights.from_bnb_nf4(Host("|u1", (512, 1), [1] * 512), scales, n=16, k=64, dtype="e4m3"),
             "a_bits is 8 and type of weights nf4: expected s4, u4 or e2m1")):
        with pytest.raises((TypeError, ValueError, tilesmith.Error), match="^" + line) as caught:
            call()
        assert "\n" not in str(caught.value)
