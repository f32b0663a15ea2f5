"""Which scales arrays are: one, one a row, or of blocks of K, by shape and strides."""
import pytest

from tilesmith._arrays import View
from tilesmith._prepare import _scaling


@pytest.mark.parametrize("shape, strides, kind", [
    ((1,), (1,), "one"), ((300,), (1,), "each"), ((300, 1), (1, 1), "each"),
    ((4, 300), (300, 1), "1x128"), ((300, 4), (1, 300), "1x128"), ((3, 4), (4, 1), "128x128"), ((2, 3, 4), (12, 4, 1), "128x128"),
    ((300, 4), (4, 1), None), ((4, 300), (304, 1), None), ((3, 4), (1, 3), None), ((3, 300), (300, 1), None), ((4, 3), (3, 1), None),
])
def test_scales_of_blocks_are_told_by_shape_and_strides(shape, strides, kind):
    view = View("f32", shape, strides, 0)  # of 300 rows and 400 elements of K
    if kind is not None:
        assert _scaling(view, 300, 400, "scale_m", "a row") == kind
        return
    with pytest.raises(ValueError, match="expected one element, or 300, one for a row, or packed scales of blocks, 4x300 or 3x4"):
        _scaling(view, 300, 400, "scale_m", "a row")
