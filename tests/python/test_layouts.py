"""Random views against NumPy's own products of them: sizes of 1, transposed, sliced, shifted, of every type. The stand-in multiplies in host memory by the
problem that it gets. What lies around a view is filled with another number, so that a wrong layout gives wrong results.

TILESMITH_LONG_TESTS=1 tries many times as many views, TILESMITH_SEED=N others."""

import os
import random

import pytest

numpy = pytest.importorskip("numpy")

from arrays import Capsule  # noqa: E402

CASES = 40000 if os.environ.get("TILESMITH_LONG_TESTS") else 2000
SEED = int(os.environ.get("TILESMITH_SEED", "1"))

# name: how NumPy holds it, code and bits of DLPack
KINDS = {"f64": ("f8", 2, 64), "f32": ("f4", 2, 32), "f16": ("f2", 2, 16), "bf16": ("u2", 4, 16), "s32": ("i4", 0, 32), "s8": ("i1", 0, 8), "u8": ("u1", 1, 8),
         "e4m3": ("u1", 10, 8), "e5m2": ("u1", 12, 8)}
# operands: results
OUTPUTS = {"f64": ["f64"], "f32": ["f32"], "f16": ["f16", "f32"], "bf16": ["bf16", "f32"], "s8": ["s32", "f16", "bf16", "s8"], "u8": ["s32", "f16", "bf16", "s8"],
           "e4m3": ["f32", "bf16", "f16", "e4m3"], "e5m2": ["f32", "bf16", "f16", "e4m3"], "s4": ["s32"], "u4": ["s32"], "b1": ["s32"], "b1xor": ["s32"]}
OF_BYTE = {"s4": 2, "u4": 2, "b1": 8, "b1xor": 8}


def byte_float(code, fraction):
    bias, exponent, part = (1 << 6 - fraction) - 1, (code & 127) >> fraction, (code & (1 << fraction) - 1) / (1 << fraction)
    return (-1 if code & 128 else 1) * (part * 2.0 ** (1 - bias) if exponent == 0 else (1 + part) * 2.0 ** (exponent - bias))


TABLES = {"e4m3": numpy.array([byte_float(code, 3) for code in range(256)]), "e5m2": numpy.array([byte_float(code, 2) for code in range(256)])}


def stored(values, kind):
    """Small whole numbers as the elements of an array."""
    if kind in TABLES:
        return numpy.abs(values[..., None] - TABLES[kind]).argmin(-1)
    return values.astype("f4").view("u4") >> 16 if kind == "bf16" else values


def numbers(held, kind):
    if kind in TABLES:
        return TABLES[kind][held]
    return (held.astype("u4") << 16).view("f4").astype("f8") if kind == "bf16" else held.astype("f8")


def unpacked(held, kind, axis):
    """The elements in bytes that lie along an axis, the one of lower index in the lower bits."""
    bits = 8 // OF_BYTE[kind]
    parts = numpy.stack([held.astype("i8") >> bits * at & (1 << bits) - 1 for at in range(OF_BYTE[kind])], axis + 1 if axis >= 0 else held.ndim + axis + 1)
    parts = numpy.where(parts > 7, parts - 16, parts) if kind == "s4" else parts
    shape = list(held.shape)
    shape[axis] *= OF_BYTE[kind]
    return parts.reshape(shape).astype("f8")


def multiplied(a, b, kind):
    return (a[..., :, :, None] != b[..., None, :, :]).sum(-2).astype("f8") if kind == "b1xor" else a @ b


class View:
    """A NumPy view that says it is on a CUDA device. The stride of an extent of 1 is anything."""

    def __init__(self, pick, held):
        size = held.itemsize
        self.held, self.shape, self.address = held, held.shape, held.__array_interface__["data"][0]
        self.bytes = tuple(stride if extent != 1 else pick.choice((0, size, -size, 3, 7 * size, 1 << 40)) for extent, stride in zip(held.shape, held.strides))
        self.strides = tuple(stride // size for stride in self.bytes)

    @property
    def __cuda_array_interface__(self):
        return {"shape": self.shape, "strides": self.bytes, "typestr": self.held.dtype.str, "data": (self.address, False), "version": 3}


class Laid:
    """A view of such a shape in memory of its own: dimensions in any order, margins around, a step of 2 now and then. inner: the axis whose elements lie
    side by side, None: any. `array` is what gemm() gets."""

    def __init__(self, pick, shape, kind, inner=None, neat=False):
        rank, self.pick, self.kind = len(shape), pick, kind
        order = list(range(rank))
        if not neat:
            pick.shuffle(order)
        elif pick.random() < 0.5 and rank > 1:
            order[-2:] = order[:-3:-1]
        if inner is not None:
            order.remove(inner % rank)
            order.append(inner % rank)
        steps = [2 if pick.random() < 0.02 and not neat and axis != order[-1] else 1 for axis in range(rank)]
        if inner is None and not neat and pick.random() < 0.03:
            steps[order[-1]] = 2
        before, after = ([pick.choice(margins) for _ in shape] for margins in ((0, 0, 0, 1, 3), (0, 0, 0, 2, 5)))
        self.order, self.slices = order, tuple(slice(b, b + n * step, step) for b, n, step in zip(before, shape, steps))
        extents = [b + n * step + a for b, n, step, a in zip(before, shape, steps, after)]
        self.take(numpy.full([extents[axis] for axis in order], numpy.array(113).astype(KINDS[kind][0])))

    def take(self, memory):
        self.memory = memory
        self.hold(memory.transpose(numpy.argsort(self.order))[self.slices])

    def hold(self, held):
        self.held, view = held, View(self.pick, held)
        by_interface = self.kind not in ("bf16", "e4m3", "e5m2") and self.pick.random() < 0.5
        self.array = view if by_interface else Capsule(view, *KINDS[self.kind][1:])

    def set(self, values):
        self.held[...] = stored(values, self.kind)
        return self

    def twin(self):
        made = Laid.__new__(Laid)
        made.__dict__.update(self.__dict__)
        made.take(self.memory.copy())
        return made

    @property
    def numbers(self):
        return numbers(self.held, self.kind)

    def is_read(self, by_rows=True, by_columns=True):
        """Whether rows, or columns, are contiguous and do not overlap."""
        (rows, columns), (down, along) = self.held.shape[-2:], [stride // self.held.itemsize for stride in self.held.strides[-2:]]
        return (0 in self.held.shape or by_rows and (columns == 1 or along == 1) and (rows == 1 or down >= columns)
                or by_columns and (rows == 1 or down == 1) and (columns == 1 or along >= rows))


def operand(pick, numpy_random, kind, shape, packed_axis):
    """And its numbers as float64."""
    if packed_axis is not None:
        shape = [extent // OF_BYTE[kind] if axis - len(shape) == packed_axis else extent for axis, extent in enumerate(shape)]
        laid = Laid(pick, shape, "u8", packed_axis)
        laid.held[...] = numpy_random.integers(0, 256, shape)
        return laid, unpacked(laid.held, kind, packed_axis)
    laid = Laid(pick, shape, kind).set(numpy_random.integers(0 if kind == "u8" else -1, 2, shape).astype("f8"))
    if len(shape) == 3 and shape[0] and pick.random() < 0.1:
        laid.hold(numpy.broadcast_to(laid.held[:1], shape))
    return laid, laid.numbers


def vector(pick, values, kind, shapes):
    laid = Laid(pick, pick.choice(shapes), kind, neat=True, inner=-1)
    laid.hold(numpy.ascontiguousarray(laid.held))
    return laid.set(numpy.array(values, "f8").reshape(laid.held.shape))


def check(library, seed):
    """One product. True: it was computed; False: it was refused, as it should be."""
    pick, numpy_random = random.Random(seed), numpy.random.default_rng(seed)
    kind, form, count = pick.choice(list(OUTPUTS)), pick.choice(("single", "single", "batch", "batch", "groups")), pick.choice((1, 1, 2, 3))
    of_byte, output = OF_BYTE.get(kind, 1), pick.choice(OUTPUTS[kind])
    m, n, k = (pick.choice((1, 1, 2, 3, 5, 8, 0 if pick.random() < 0.1 else 4)) for _ in "mnk")
    axes = [None, None]
    if of_byte > 1:
        axes = [-1 if form == "groups" else pick.choice((-1, -2)), pick.choice((-2, -1))]
        k *= of_byte if -1 == axes[0] or -2 == axes[1] else 1
        m, n = m * (of_byte if axes[0] == -2 else 1), n * (of_byte if axes[1] == -1 else 1)
    a_is_batch = form == "batch" and pick.random() < 0.8
    b_is_batch = form == "groups" or form == "batch" and (not a_is_batch or pick.random() < 0.8)
    a, x = operand(pick, numpy_random, kind, [count, m, k] if a_is_batch else [m, k], axes[0])
    b, y = operand(pick, numpy_random, kind, [count, k, n] if b_is_batch else [k, n], axes[1])
    more, ends = {"compute": kind if of_byte > 1 else None}, []
    if form == "groups":
        ends = sorted(pick.randint(0, m) for _ in range(count))
        more["offsets"] = vector(pick, ends, "s32", [(count,), (1, count), (count, 1)]).array
        want = numpy.concatenate([multiplied(x[begin:end], y[group], kind) for group, (begin, end) in enumerate(zip([0, *ends], ends))])
    else:
        want = multiplied(x, y, kind)
    d = Laid(pick, (m, n) if form == "groups" else want.shape, output)
    d.set(numpy_random.integers(-1, 2, d.held.shape).astype("f8"))
    written = d.held[: ends[-1]] if form == "groups" else d.held

    alpha = 1.0 if output == "e4m3" else pick.choice((1.0, 1.0, 2))  # e4m3 has whole numbers up to 16
    want = want * int(alpha)
    scales = [vector(pick, numpy_random.integers(1, 3, length), "f32", shapes) for length, shapes in ((m, [(m,), (1, m), (m, 1)]), (n, [(n,), (1, n), (n, 1)]))]
    if output not in ("s32", "e4m3") and m and n and pick.random() < 0.2:
        more.update(scale_m=scales[0].array, scale_n=scales[1].array)
        want = want * scales[0].numbers.reshape(-1, 1)[: want.shape[-2]] * scales[1].numbers.reshape(-1)
    if output != "e4m3" and pick.random() < 0.3:  # beta's term, of out or of an array beside it
        c = d.twin() if pick.random() < 0.5 else d
        if c is not d:
            c.set(numpy_random.integers(-1, 2, c.held.shape).astype("f8"))
            more["c"] = c.array
        more["beta"] = 2
        want = want + 2 * c.numbers[: want.shape[-2]] if form == "groups" else want + 2 * c.numbers
    if pick.random() < 0.3:
        along_m = pick.random() < 0.4
        bias = vector(pick, numpy_random.integers(-1, 2, m if along_m else n), pick.choice((output, "f32")), [(m, 1)] if along_m else [(n,), (1, n), (1, 1, n)])
        more["bias"] = bias.array
        want = want + (bias.numbers.reshape(-1, 1)[: want.shape[-2]] if along_m else bias.numbers.reshape(-1))

    memory, before = d.memory, d.memory.copy()
    readable = a.is_read(by_columns=form != "groups") and b.is_read() and d.is_read(by_columns=form != "groups")
    try:
        library.gemm(a.array, b.array, d.array, alpha=alpha, **more)
    except ValueError as why:
        assert not readable, f"refused: {why}"
        assert (memory == before).all()
        return False
    assert readable, "not refused"
    assert (numbers(written, output) == want).all(), f"got\n{numbers(written, output)}\nexpected\n{want}"
    written[...] = 0  # and nothing else was written
    now = memory.copy()
    memory[...] = before
    written[...] = 0
    assert (now == memory).all(), "written beside out"
    return True


@pytest.mark.filterwarnings("ignore")
def test_no_view_differs_from_numpy(library):
    computed = 0
    for seed in range(SEED * 1000003, SEED * 1000003 + CASES):
        try:
            computed += check(library, seed)
        except Exception as why:
            raise AssertionError(f"seed {seed}: {type(why).__name__}: {why}") from why
    assert computed > CASES * 0.6
