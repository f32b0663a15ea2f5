"""Checkpoints of GPTQ, AWQ, bitsandbytes and 8-bit floats: their tensors as packed weights of a model's layers, and as its dense ones."""

from __future__ import annotations

import json
from typing import Any, Callable, Dict, Iterable, List, Mapping, NamedTuple, Optional, Set, Tuple, Union

import torch
from torch import Tensor, nn

from .. import weights
from .._errors import Error
from ..weights import Weights
from ._fp8 import Fp8Linear, Fp8Weights, fp8_weights
from ._gguf import PACKED
from ._linear import Linear
from ._rounding import SCALE_TYPES

Packed = Union[Weights, Fp8Weights]


def collected(state: Any) -> Dict[str, Tensor]:
    """The tensors of one file, or of all of them."""
    given: Dict[str, Tensor] = {}
    for file in state if isinstance(state, Iterable) and not isinstance(state, Mapping) else (state,):
        if not isinstance(file, Mapping):
            raise TypeError(f"state is or has a {type(file).__name__}; expected a mapping of names to tensors, or an iterable of such files")
        for key, tensor in file.items():
            if not isinstance(tensor, Tensor):
                raise TypeError(f"{key!r} of the checkpoint is a {type(tensor).__name__}; expected a tensor")
            if key in given:
                raise ValueError(f"{key!r} is in two files of the checkpoint; expected it in one")
            given[key] = tensor
    return given


def read_layers(model: nn.Module, given: Dict[str, Tensor], here: Mapping[str, Tensor], holders: Mapping[int, List[nn.Module]], method: str,
                dtype: Optional[str], bits: int, v2: bool, activations: Optional[str]) -> Dict[nn.Linear, Packed]:
    """The packed layers, and those of the same weight. Their parts are taken out of `given`."""
    for key in given:
        if key.endswith((".SCB", "bitsandbytes__fp4")):
            raise ValueError(f"{key!r} of the checkpoint is bitsandbytes' {'LLM.int8' if key.endswith('.SCB') else 'FP4'}; expected its NF4")
    of = FORMATS[method]
    parts_of = (*of.needed, *of.others)
    found = {key[: -len(part) - 1]: part for key in given if key not in here for part in parts_of if part != "weight" and key.endswith(f".{part}")}
    if method == "fp8":  # a weight alone would be taken for a dense one
        found.update({key[:-7]: "weight" for key in given if key.endswith(".weight") and given[key].dtype is torch.float8_e4m3fn})
    named = {name: _linear_of(model, name) for name in found}
    lacking = [(name, part) for name in found for part in of.needed if f"{name}.{part}" not in given]
    if lacking:
        name, part = lacking[0]
        raise ValueError(f"layer {name!r} of the checkpoint has no {part}; expected it beside its {found[name] if part == of.needed[0] else of.needed[0]}, or in "
                         f"another file of those that are given at once (of {len(lacking)} parts that are missing)")
    layers: Dict[nn.Linear, Packed] = {}
    for name, layer in named.items():
        parts = {part: given.pop(f"{name}.{part}", None) for part in parts_of}
        try:
            made = of.read(parts, dtype or SCALE_TYPES[layer.weight.dtype], bits, v2, activations)
        except Error as why:
            raise Error(f"layer {name!r}: {why}", why.status) from None
        except (ValueError, TypeError) as why:
            raise ValueError(f"layer {name!r}: {why}") from None
        if (made.n, made.k) != (layer.out_features, layer.in_features):
            raise ValueError(f"layer {name!r} of the checkpoint is {made.n}x{made.k}; expected {layer.out_features}x{layer.in_features}, as in the model")
        if not all(_equal(getattr(layers.get(layer, made), part), getattr(made, part)) for part in ("text", "codes", "scales", "zeros")):
            raise ValueError(f"layer {name!r} of the checkpoint differs from another name of it; expected the same, since the model has one weight for both")
        for module in holders[id(layer.weight)]:
            if not isinstance(module, nn.Linear):
                raise ValueError(f"layer {name!r} of the checkpoint is packed, and is one with the weight of an {type(module).__name__} in the model; expected a model "
                                 "that does not tie them")
            layers.setdefault(module, made)
    return layers


def dense_tensors(given: Mapping[str, Tensor], here: Mapping[str, Tensor], packed: Set[int]) -> Dict[int, Tensor]:
    """What replaces a model's tensors, by their ids: what is one there stays one."""
    unexpected = [key for key in given if key not in here or id(here[key]) in packed]
    if unexpected:
        raise ValueError(f"the checkpoint has a tensor {unexpected[0]!r}, of {len(unexpected)} such; expected those that the model has")
    fresh: Dict[int, Tensor] = {}
    for key, tensor in given.items():
        old = here[key]
        of, wanted = (f" of {tensor.dtype}", f" of {old.dtype}") if _is_packed(tensor) and not _is_packed(old) else ("", "")
        if tensor.shape != old.shape or of:
            raise ValueError(f"{key!r} of the checkpoint is {list(tensor.shape)}{of}; expected {list(old.shape)}{wanted}, as in the model")
        new = tensor.detach().to(old.dtype)
        if not _equal(fresh.get(id(old), new), new):
            raise ValueError(f"{key!r} of the checkpoint differs from another name of it; expected the same, since the model has one tensor for both")
        fresh.setdefault(id(old), nn.Parameter(new, requires_grad=old.requires_grad) if isinstance(old, nn.Parameter) else new)
    return fresh


def _is_packed(tensor: Tensor) -> bool:
    """Whether it may need scales to be what it stands for."""
    return not tensor.is_floating_point() or tensor.element_size() == 1


def _equal(one: Any, other: Any) -> bool:
    return one is other or (torch.equal(one, other.to(one.device)) if isinstance(one, Tensor) and isinstance(other, Tensor) else one == other)


def _linear_of(model: nn.Module, name: str) -> nn.Linear:
    try:
        layer = model.get_submodule(name)
    except AttributeError:
        raise ValueError(f"the checkpoint has a layer {name!r}; expected one that the model has") from None
    if isinstance(layer, (Linear, Fp8Linear)):
        raise ValueError(f"layer {name!r} of the model is packed already; expected one that is not, and all files of a checkpoint at once")
    if not isinstance(layer, nn.Linear):
        raise ValueError(f"layer {name!r} of the model is {type(layer).__name__}; expected Linear")
    if layer.weight.dtype not in SCALE_TYPES:
        raise ValueError(f"layer {name!r} of the model is of {layer.weight.dtype}; expected float16 or bfloat16")
    return layer


_Parts = Mapping[str, Any]


def _types(dtype: str, activations: Optional[str]) -> Dict[str, Any]:
    """Of scales, and what the codes are laid out for, as tilesmith.weights has them."""
    return {"dtype": dtype} if activations is None else {"dtype": activations, "scales_dtype": dtype}


def _gptq(parts: _Parts, dtype: str, bits: int, v2: bool, activations: Optional[str]) -> Weights:
    return weights.from_gptq(parts["qweight"], parts["qzeros"], parts["scales"], parts["g_idx"], bits=bits, v2=v2, **_types(dtype, activations))


def _awq(parts: _Parts, dtype: str, bits: int, v2: bool, activations: Optional[str]) -> Weights:
    return weights.from_awq(parts["qweight"], parts["qzeros"], parts["scales"], **_types(dtype, activations))


def _bnb(parts: _Parts, dtype: str, *_: Any) -> Weights:
    """The layout of bitsandbytes 0.41.2 and newer: what is no tensor is JSON, as bytes. An absmax of bytes is quantised itself, to a table of 256."""
    absmax, table, outer = parts["weight.absmax"], parts["weight.nested_quant_map"], parts["weight.nested_absmax"]
    nested = not absmax.is_floating_point()
    try:
        told = json.loads(bytes(parts[_NF4].cpu().tolist()))
        n, k = map(int, told["shape"])
        size, offset = (int(told["nested_blocksize"]), float(told["nested_offset"])) if nested else (0, 0.0)
    except (ValueError, TypeError, KeyError):
        raise ValueError(f"{_NF4} cannot be read; expected JSON with a shape of two{', nested_blocksize and nested_offset' if nested else ''}") from None
    if nested:
        for name in ("weight.nested_quant_map", "weight.nested_absmax"):
            if parts[name] is None:
                raise ValueError(f"there is no {name}; expected it, since weight.absmax is quantised ({absmax.dtype})")
        if absmax.dtype is not torch.uint8 or table.numel() != 256 or outer.numel() * max(size, 0) < absmax.numel():
            raise ValueError(f"weight.absmax is {absmax.numel()} of {absmax.dtype}, with a table of {table.numel()} and {outer.numel()} scales for {size} each; expected "
                             "uint8, 256, and scales for all")
        absmax = table[absmax.long()] * outer.repeat_interleave(size)[: absmax.numel()].view_as(absmax) + offset
    elif "nested_blocksize" in told:
        raise ValueError(f"weight.absmax is {absmax.dtype}; expected uint8, since {_NF4} says that it is quantised")
    return weights.from_bnb_nf4(parts["weight"], absmax.float(), n=n, k=k, dtype=dtype)


def _gguf(parts: _Parts, dtype: str, *_: Any) -> Weights:
    kind = next(kind for kind in PACKED if parts[kind] is not None)
    return weights.from_gguf(parts[kind], kind, dtype=dtype)


class Format(NamedTuple):
    """Parts by their names behind the layer's. The first is what only packed layers of the format have."""

    needed: Tuple[str, ...]
    others: Tuple[str, ...]
    read: Callable[[_Parts, str, int, bool, Optional[str]], Packed]


_NF4 = "weight.quant_state.bitsandbytes__nf4"
FORMATS = {
    "gptq": Format(("qweight", "scales", "qzeros"), ("g_idx",), _gptq),
    "awq": Format(("qweight", "qzeros", "scales"), (), _awq),
    "bnb": Format((_NF4, "weight", "weight.absmax"), ("weight.quant_map", "weight.nested_absmax", "weight.nested_quant_map"), _bnb),
    "fp8": Format(("weight_scale_inv", "weight"), (), fp8_weights),
    "gguf": Format((), PACKED, _gguf),
}
OF_BYTES = ("gptq", "awq")  # those that read with activations
