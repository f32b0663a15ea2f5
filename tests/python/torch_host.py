"""CPU tensors taken for a device's, for the tests of tilesmith.torch."""

import gc

import pytest
import torch

import tilesmith.torch
from tilesmith import _arrays


@pytest.fixture
def host(stand_in, monkeypatch):
    """Host tensors are taken for a device's."""
    monkeypatch.setattr(_arrays, "HOST_DEVICES_ALLOWED", True)
    tilesmith.torch._servings.clear()
    tilesmith.torch._last = None
    gc.collect()
    stand_in.record.plans = 0
    torch.manual_seed(0)
    yield stand_in


def same(x, y):
    torch.testing.assert_close(x, y, rtol=1e-2 if x.dtype == torch.bfloat16 else 1e-5, atol=1e-2 if x.dtype == torch.bfloat16 else 1e-5)
