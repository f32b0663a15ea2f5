"""Models with weights in 4 or 8 bits: of a dense model by rounding, and of checkpoints that GPTQ, AWQ and bitsandbytes made."""

from __future__ import annotations

import json
from typing import Any, Callable, Dict, Iterable, List, Mapping, NamedTuple, Optional, Set, Tuple

from torch import Tensor, nn

from .. import weights
from .._errors import Error
from ..weights import Weights
from ._linear import Linear
from ._rounding import SCALE_TYPES, parse_kind


def quantize_(model: nn.Module, kind: str = "s4_g128", *, skip: Iterable[str] = ("lm_head",)) -> List[str]:
    """Puts a Linear with weights in the place of each torch.nn.Linear of a model, rounded by quantize(). Their names are returned. skip: names, whole or
    their last part. Nothing is changed if a layer cannot be of that kind. Subclasses of torch.nn.Linear stay as they are."""
    of, left = parse_kind(kind), frozenset((skip,) if isinstance(skip, str) else skip)
    names_of: Dict[nn.Module, List[str]] = {}  # a layer that has several names stays one
    for name, module in model.named_modules(remove_duplicate=False):
        if type(module) is not nn.Linear or name in left or name.split(".")[-1] in left:
            continue
        if module.weight.dtype not in SCALE_TYPES or module.in_features % (of.group or 1):
            raise ValueError(f"layer {name!r} is {module.out_features}x{module.in_features} of {module.weight.dtype}; expected float16 or bfloat16 and a "
                             f"multiple of {of.group or 1} columns, or its name in skip")
        names_of.setdefault(module, []).append(name)
    places = list(names_of.values())
    names_of.clear()  # so that each dense weight goes when its layer does
    for names in places:
        layer = model.get_submodule(names[0])
        assert isinstance(layer, nn.Linear)
        made = Linear.from_linear(layer, kind)
        for name in names:
            _put(model, name, made)
    return [name for names in places for name in names]


def load_quantized_(model: nn.Module, state: Mapping[str, Tensor], method: str, *, bits: int = 4, v2: bool = False, dtype: Optional[str] = None) -> List[str]:
    """Loads the tensors of a checkpoint that GPTQ ("gptq"), AWQ ("awq") or bitsandbytes in NF4 ("bnb") made, or of one of its files, into a model that was
    built as its config says. A layer whose packed weight is there becomes a Linear with weights on the device of the tensors; the names of these layers are
    returned. All other tensors are loaded, in the types that the model has. Nothing is changed if a layer or a tensor does not fit.

    model: may be on the device "meta", but for what no file has. bits, v2: as from_gptq() has them; a config calls v2 `checkpoint_format`. Act-order is
    refused ("desc_act" with its g_idx). dtype: of scales as they are kept, by default the type of the layer's weight; "f32" rounds none of bitsandbytes'."""
    if method not in _FORMATS:
        raise ValueError(f"method is {method!r}; expected {', '.join(map(repr, _FORMATS))}")
    if method != "gptq" and bits != 4:
        raise ValueError(f"bits is {bits}; expected 4 of {method!r}")
    of = _FORMATS[method]
    names = [key[: -len(of.marks)] for key in state if key.endswith(of.marks)]
    taken: Set[str] = set()
    layers: List[Tuple[str, Linear]] = []
    for name in names:
        layer = _linear_of(model, name)
        parts = {part: state.get(f"{name}.{part}") for part in (*of.needed, *of.others, "bias")}
        taken.update(f"{name}.{part}" for part in parts)
        for part in of.needed:
            if parts[part] is None:
                raise ValueError(f"layer {name!r} of the checkpoint has no {part}; expected it beside its {of.marks[1:]}")
        try:
            packed = of.read(parts, dtype or SCALE_TYPES[layer.weight.dtype], bits, v2)
        except Error as why:
            raise Error(f"layer {name!r}: {why}", why.status) from None
        except (ValueError, TypeError) as why:
            raise ValueError(f"layer {name!r}: {why}") from None
        if (packed.n, packed.k) != (layer.out_features, layer.in_features):
            raise ValueError(f"layer {name!r} of the checkpoint is {packed.n}x{packed.k}; expected {layer.out_features}x{layer.in_features}, as in the model")
        bias = parts["bias"]
        layers.append((name, Linear(packed, None if bias is None else bias.to(layer.weight.dtype))))
    others = {key: tensor for key, tensor in state.items() if key not in taken}
    known = {key: tensor for key, tensor in model.state_dict().items() if key.rpartition(".")[0] not in names}
    unexpected = [key for key in others if key not in known]
    if unexpected:
        raise ValueError(f"the checkpoint has a tensor {unexpected[0]!r}, of {len(unexpected)} such; expected those that the model has")
    for key, tensor in others.items():
        if tensor.shape != known[key].shape:
            raise ValueError(f"{key!r} of the checkpoint is {list(tensor.shape)}; expected {list(known[key].shape)}, as in the model")
    for name, made in layers:
        _put(model, name, made)
    model.load_state_dict({key: tensor.to(known[key].dtype) for key, tensor in others.items()}, strict=False, assign=True)
    return names


def _linear_of(model: nn.Module, name: str) -> nn.Linear:
    try:
        layer = model.get_submodule(name)
    except AttributeError:
        raise ValueError(f"the checkpoint has a layer {name!r}; expected one that the model has") from None
    if not isinstance(layer, nn.Linear):
        raise ValueError(f"layer {name!r} of the model is {type(layer).__name__}; expected Linear")
    if layer.weight.dtype not in SCALE_TYPES:
        raise ValueError(f"layer {name!r} of the model is of {layer.weight.dtype}; expected float16 or bfloat16")
    return layer


_Parts = Mapping[str, Any]


def _gptq(parts: _Parts, dtype: str, bits: int, v2: bool) -> Weights:
    return weights.from_gptq(parts["qweight"], parts["qzeros"], parts["scales"], parts["g_idx"], bits=bits, v2=v2, dtype=dtype)


def _awq(parts: _Parts, dtype: str, bits: int, v2: bool) -> Weights:
    return weights.from_awq(parts["qweight"], parts["qzeros"], parts["scales"], dtype=dtype)


def _bnb(parts: _Parts, dtype: str, bits: int, v2: bool) -> Weights:
    """The layout of bitsandbytes 0.41 and newer: what is no tensor is JSON, as bytes. A nested absmax is quantised itself, to a table of 256."""
    table, outer, absmax = parts["weight.nested_quant_map"], parts["weight.nested_absmax"], parts["weight.absmax"]
    nested = table is not None and outer is not None
    try:
        told = json.loads(bytes(parts[_NF4].cpu().tolist()))
        n, k = told["shape"]
        size, offset = (int(told["nested_blocksize"]), float(told["nested_offset"])) if nested else (0, 0.0)
    except (ValueError, TypeError, KeyError):
        raise ValueError(f"{_NF4} cannot be read; expected JSON with a shape of two{', nested_blocksize and nested_offset' if nested else ''}") from None
    if nested:
        absmax = table[absmax.long()] * outer.repeat_interleave(size)[: absmax.numel()] + offset
    return weights.from_bnb_nf4(parts["weight"], absmax.float(), n=n, k=k, dtype=dtype)


class _Format(NamedTuple):
    """marks: how the name of the tensor ends that only packed layers have. Parts by their names behind the layer's."""

    marks: str
    needed: Tuple[str, ...]
    others: Tuple[str, ...]
    read: Callable[[_Parts, str, int, bool], Weights]


_NF4 = "weight.quant_state.bitsandbytes__nf4"
_FORMATS = {
    "gptq": _Format(".qweight", ("qweight", "scales"), ("qzeros", "g_idx"), _gptq),
    "awq": _Format(".qweight", ("qweight", "qzeros", "scales"), (), _awq),
    "bnb": _Format(f".{_NF4}", (_NF4, "weight", "weight.absmax"), ("weight.quant_map", "weight.nested_absmax", "weight.nested_quant_map"), _bnb),
}


def _put(model: nn.Module, name: str, layer: nn.Module) -> None:
    above, _, last = name.rpartition(".")
    setattr(model.get_submodule(above), last, layer)
