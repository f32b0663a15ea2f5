"""Rounding a dense weight to 4 or 8 bits, of which nothing but the weight is known."""

from __future__ import annotations

import math
import re
from typing import NamedTuple, Optional

import torch
from torch import Tensor

from .. import weights
from .._weights import A_OF_BYTES
from ..weights import Weights

_KIND = re.compile(r"(s4|u4|s8|e4m3|e2m1|nf4)_(g32|g64|g128|column)(\+zeros)?(\+f32)?")
SCALE_TYPES = {torch.float16: "f16", torch.bfloat16: "bf16"}
# Of integers: the lowest and the highest.
_RANGES = {"s4": (-8, 7), "u4": (0, 15), "s8": (-128, 127)}
_LARGEST_E4M3 = 448.0
# Of four bits that stand in no row: their values, by code. e2m1 is OCP's float of 4 bits; NF4 is of Dettmers et al., "QLoRA", 2023, in bitsandbytes' digits.
TABLES = {
    "e2m1": (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0),
    "nf4": (-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0.0,
            0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941,
            0.7229568362236023, 1.0),
}


class Kind(NamedTuple):
    """What a text such as "s4_g128" says. group 0: a scale for each row."""

    type: str
    group: int
    zeros: bool
    f32_scales: bool


def check_name(activations: Optional[str]) -> None:
    if activations not in (None, *A_OF_BYTES):
        raise ValueError(f"activations is {activations!r}; expected None, {' or '.join(map(repr, A_OF_BYTES))}")


def parse_kind(text: str, activations: Optional[str] = None) -> Kind:
    found = _KIND.fullmatch(text)
    if found is None:
        raise ValueError(f"kind is {text!r}; expected s4, u4, s8, e4m3, e2m1 or nf4, then _g32, _g64, _g128 or _column, then +zeros, +f32, as in 's4_g128'")
    type, group, zeros, f32 = found.groups()
    if (type == "u4") != bool(zeros):
        raise ValueError(f"kind is {text!r}; expected +zeros of u4, whose range begins at 0, and of it alone: others are rounded symmetrically")
    check_name(activations)
    if activations is not None and type not in ("s4", "u4", "e2m1"):
        raise ValueError(f"kind is {text!r}; expected s4, u4 or e2m1 with activations={activations!r}")
    return Kind(type, 0 if group == "column" else int(group[1:]), bool(zeros), bool(f32))


def quantize(weight: Tensor, kind: str = "s4_g128", activations: Optional[str] = None) -> Weights:
    """A weight, n x k of f16 or bf16, or experts x n x k, rounded to the nearest of what `kind` can store. Nothing is known of activations: GPTQ and AWQ, which look at
    some, lose less.

    s4, s8: a scale is the largest magnitude of its group over 7.5 (127.5), so that no element is off by more than half a scale, but for the scale's
    own rounding. e4m3: over 448. e2m1: over 6. nf4: itself.
    u4_..+zeros: the group's range over 15, and the zero that is nearest to its lowest element.
    activations: None, or "e4m3" or "s8": packs s4, u4 and e2m1 for an x whose rows are rounded to 8 bits."""
    of = parse_kind(kind, activations)
    if weight.dim() not in (2, 3) or weight.dtype not in SCALE_TYPES or not weight.numel():
        raise ValueError(f"weight is {'x'.join(map(str, weight.shape))} of {weight.dtype}; expected n x k of float16 or bfloat16, or experts before them")
    check_finite(weight, "weight")
    k = weight.shape[-1]
    each = of.group or k
    if k % each:
        raise ValueError(f"weight has {k} columns; expected a multiple of {each}, the group of {kind!r}")
    dtype = torch.float32 if of.f32_scales else weight.dtype
    groups = weight.detach().float().reshape(*weight.shape[:-1], k // each, each)
    if of.zeros:
        low, high = groups.amin(-1).clamp(max=0), groups.amax(-1).clamp(min=0)
        scales = _kept((high / 2 - low / 2) / 7.5, dtype)  # the range itself may be beyond f32
        zeros = (-low / scales.float()).round().clamp(0, 15)
        codes = ((groups / scales.float().unsqueeze(-1)).round() + zeros.unsqueeze(-1)).clamp(0, 15).to(torch.uint8)
        return weights.pack(codes.reshape(weight.shape), _across(scales), _across(zeros.to(dtype)), type=of.type, dtype=activations)
    largest = groups.abs().amax(-1)
    if of.type == "e4m3":
        scales = _kept(largest / _LARGEST_E4M3, dtype)
        stored = (groups / scales.float().unsqueeze(-1)).clamp(-_LARGEST_E4M3, _LARGEST_E4M3).to(torch.float8_e4m3fn)
    elif of.type in TABLES:
        table = torch.tensor(TABLES[of.type], device=weight.device)
        scales = _kept(largest / table.max(), dtype)
        stored = _nearest(groups / scales.float().unsqueeze(-1), table)
    else:
        lowest, highest = _RANGES[of.type]
        scales = _kept(largest / (highest + 0.5), dtype)
        stored = (groups / scales.float().unsqueeze(-1)).round().clamp(lowest, highest).to(torch.int8)
    return weights.pack(stored.reshape(weight.shape), _across(scales), type=of.type, dtype=activations)


def check_finite(weight: Tensor, what: str) -> None:
    if weight.is_meta:
        raise ValueError(f"{what} is on the device meta; expected one that has numbers")
    if not all(math.isfinite(end) for end in torch.aminmax(weight.detach())):
        raise ValueError(f"{what} has NaN or infinities; expected finite numbers")


def _kept(scales: Tensor, dtype: torch.dtype) -> Tensor:
    """As they are stored; of a group of zeros, or of what dtype rounds to 0, 1."""
    kept = scales.to(dtype)
    return torch.where(kept > 0, kept, torch.ones_like(kept))


def _nearest(values: Tensor, table: Tensor) -> Tensor:
    """The code of the nearest value of a table."""
    sorted_table, codes = table.sort(stable=True)
    return codes[torch.bucketize(values, (sorted_table[1:] + sorted_table[:-1]) / 2)].to(torch.uint8)


def _across(of_rows: Tensor) -> Tensor:
    """n x groups as groups x n."""
    return of_rows.transpose(-1, -2).contiguous()
