"""Arrays for tests, in host memory that they say is a CUDA device's. No NumPy."""

import ctypes
import itertools
import random

_KINDS = {"f4": ctypes.c_float, "f8": ctypes.c_double, "i4": ctypes.c_int32, "i1": ctypes.c_int8, "u1": ctypes.c_uint8, "f2": ctypes.c_uint16, "i2": ctypes.c_int16}


class Array:
    """A view of host memory with __cuda_array_interface__. Strides are in elements."""

    def __init__(self, shape, kind="f4", strides=None, values=None, read_only=False, shift=0):
        self.shape, self.kind, self.read_only = tuple(shape), kind, read_only
        self.strides = tuple(strides) if strides is not None else packed(shape)
        extent = 1 + sum((n - 1) * s for n, s in zip(self.shape, self.strides)) if all(self.shape) else 1
        self.memory = (_KINDS[kind] * (extent + 16 + shift))()
        size = ctypes.sizeof(_KINDS[kind])
        start = -(-ctypes.addressof(self.memory) // 16) * 16  # aligned, then shifted by elements
        self.address = start + shift * size
        self._cells = (_KINDS[kind] * extent).from_address(self.address)
        if values is not None:
            for index in self.indices():
                self[index] = values(*index)

    @property
    def __cuda_array_interface__(self):
        size = ctypes.sizeof(_KINDS[self.kind])
        strides = None if self.strides == packed(self.shape) else tuple(s * size for s in self.strides)
        return {"shape": self.shape, "strides": strides, "typestr": "<" + self.kind, "data": (self.address, self.read_only), "version": 3}

    def indices(self):
        return itertools.product(*map(range, self.shape))

    def _at(self, index):
        return sum(i * s for i, s in zip(index if isinstance(index, tuple) else (index,), self.strides))

    def __getitem__(self, index):
        return self._cells[self._at(index)]

    def __setitem__(self, index, value):
        self._cells[self._at(index)] = value


def packed(shape):
    strides, step = [], 1
    for extent in reversed(tuple(shape)):
        strides.insert(0, step)
        step *= extent
    return tuple(strides)


def by_columns(shape):
    """Strides of an array whose last two dimensions are stored transposed."""
    *outer, rows, columns = shape
    turned = packed((*outer, columns, rows))
    return (*turned[:-2], turned[-1], turned[-2])


def whole_numbers(seed, most=4):
    numbers = random.Random(seed)
    return lambda *index: numbers.randint(-most, most)


def product(a, b, row, column, entry=()):
    def of(array, i, j):
        return array[(*entry, i, j)] if len(array.shape) == 3 else array[i, j]

    return sum(of(a, row, l) * of(b, l, column) for l in range(a.shape[-1]))


class Capsule:
    """A DLPack producer. The stream that it is given is kept."""

    def __init__(self, array, code=2, bits=32, device=2, name=b"dltensor", offset=0):
        from tilesmith import _dlpack as dlpack

        self.array, self.device, self.name, self.streams = array, device, name, []
        self.shape = (ctypes.c_int64 * len(array.shape))(*array.shape)
        self.strides = (ctypes.c_int64 * len(array.shape))(*array.strides)
        self.tensor = dlpack._Tensor(array.address - offset, device, 0, len(array.shape), code, bits, 1, self.shape, self.strides, offset)
        self.versioned = dlpack._Versioned(1, 0, None, None, 1, self.tensor)

    def __dlpack_device__(self):
        return self.device, 0

    def __dlpack__(self, stream=None):
        self.streams.append(stream)
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        what = self.versioned if self.name == b"dltensor_versioned" else self.tensor
        return make(ctypes.addressof(what), self.name, None)
