"""Which scales arrays are: one, one a row, or of blocks of K, by shape and strides."""
import pytest

from tilesmith._arrays import View
from tilesmith._prepare import _scaling, _scalings
from tilesmith._types import usual_output


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


@pytest.mark.parametrize("m, n, k, scale_m, scale_n, kinds", [
    (9, 56, 7168, (56, 9), (1, 56), ("1x128", "128x128")),  # as many columns as blocks of K
    (9, 300, 100, (9, 1), (3, 1), ("1x128", "128x128")),  # one block of K
    (1, 300, 100, (1, 1), (3, 1), ("1x128", "128x128")),
    (100, 300, 100, (1, 1), (3, 1), ("128x128", "128x128")),
    (9, 100, 100, (9, 1), (1, 1), ("each", "one")),  # which is the same
    (56, 56, 7168, (1, 56), (1, 56), ("each", "each")),
])
def test_a_vector_beside_scales_of_blocks_is_of_blocks(m, n, k, scale_m, scale_n, kinds):
    class On:
        pass

    for turned in (False, True):
        on, views = On(), [View("f32", shape, (shape[1], 1), 0) for shape in (scale_m, scale_n)]
        on.scale_m, on.scale_n = views[::-1] if turned else views
        assert _scalings(on, *((n, m) if turned else (m, n)), k) == (kinds[::-1] if turned else kinds)
    on.scale_m, on.scale_n = View("f32", (4, 300), (300, 1), 0), View("f32", (200,), (1,), 0)
    with pytest.raises(ValueError, match="^scale_n is 200; expected packed scales of blocks, 4x200 or 2x4, as of the other operand$"):
        _scalings(on, 300, 200, 400)


def test_scaled_integers_are_bf16_by_default():
    assert [usual_output("s8"), usual_output("s8", scaled=True), usual_output("e4m3", scaled=True), usual_output("f16", scaled=True)] == [
        "s32", "bf16", "bf16", "f16"]
