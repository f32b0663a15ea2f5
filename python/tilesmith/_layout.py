"""From the shapes and strides of arrays to a row-major problem: what is transposed, leading dimensions, distances of a batch."""

from __future__ import annotations

from typing import List, NamedTuple, Optional, Tuple

from ._arrays import View, packed_strides


class Matrix(NamedTuple):
    """One matrix of a batch. `by_columns`: its columns are contiguous, so its transpose is what is stored row by row."""

    rows: int
    columns: int
    by_columns: bool
    step: int  # elements from a stored row to the next
    entries: Optional[int]  # None: not a batch
    distance: int  # elements from an entry to the next


def matrix(view: View, what: str) -> Matrix:
    """By rows if it can be read so. Raises ValueError in one line if the view is not one matrix, or a batch of them, with contiguous rows or columns."""
    return readings(view, what)[0]


def readings(view: View, what: str) -> List[Matrix]:
    """The ways to read it, by rows before by columns: one row or one column has both, since the stride of an extent of 1 means nothing."""
    rank = len(view.shape)
    if rank not in (2, 3):
        raise ValueError(f"{what} has {rank} dimensions, {shape_text(view.shape)}; expected 2, or 3 of a batch")
    if 0 in view.shape:  # no stride means anything
        view = view._replace(strides=packed_strides(view.shape))
    if any(stride < 0 for extent, stride in zip(view.shape, view.strides) if extent > 1):
        raise ValueError(f"{what} has strides {view.strides}; expected none below 0")
    rows, columns = view.shape[-2:]
    down, along = view.strides[-2:]
    entries, distance = (None, 0) if rank == 2 else (view.shape[0], view.strides[0])
    found = []
    if (along == 1 or columns <= 1) and (down >= columns or rows <= 1):
        found.append(Matrix(rows, columns, False, down if rows > 1 else max(columns, 1), entries, distance))
    if (down == 1 or rows <= 1) and (along >= rows or columns <= 1):
        found.append(Matrix(rows, columns, True, along if columns > 1 else max(rows, 1), entries, distance))
    if not found:
        raise ValueError(f"{what} is {shape_text(view.shape)} with strides {view.strides}; expected rows or columns that are contiguous and do not "
                         "overlap: make it contiguous first")
    return found


def is_packed(shape: Tuple[int, ...], strides: Tuple[int, ...], size: int = 1) -> bool:
    """Whether the elements lie side by side. size: of an element, in the unit of the strides."""
    return 0 in shape or all(extent == 1 or stride == step * size for extent, stride, step in zip(shape, strides, packed_strides(shape)))


def shape_text(shape: Tuple[int, ...]) -> str:
    return "x".join(map(str, shape)) or "a scalar"


def vector_length(view: View, what: str) -> int:
    """Elements of a vector, which may be a row or column of a matrix: all extents but one are 1."""
    if 0 in view.shape:
        return 0
    long = [(extent, stride) for extent, stride in zip(view.shape, view.strides) if extent != 1]
    if len(long) > 1:
        raise ValueError(f"{what} is {shape_text(view.shape)}; expected a vector")
    if not long:
        return 1
    if long[0][1] != 1:
        raise ValueError(f"{what} has elements {long[0][1]} apart; expected a contiguous vector")
    return long[0][0]
