"""Models with weights in 4 or 8 bits: of a dense model by rounding, and of checkpoints that GPTQ and AWQ made."""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Tuple

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
        made = Linear.from_linear(model.get_submodule(names[0]), kind)
        for name in names:
            _put(model, name, made)
    return [name for names in places for name in names]


def load_quantized_(model: nn.Module, state: Mapping[str, Tensor], method: str, *, bits: int = 4, v2: bool = False) -> List[str]:
    """Loads the tensors of a checkpoint that GPTQ ("gptq") or AWQ ("awq") made, or of one of its files, into a model that was built as its config
    says. A layer whose `qweight` is there becomes a Linear with weights, with scales in its weight's type, on the device of the tensors; the names of these
    layers are returned. All other tensors are loaded as they are.

    model: may be on the device "meta", but for what no file has. bits, v2: as from_gptq() has them; a config calls v2 `checkpoint_format`. Act-order is
    refused ("desc_act" with its g_idx)."""
    if method not in ("gptq", "awq"):
        raise ValueError(f"method is {method!r}; expected 'gptq' or 'awq'")
    if method == "awq" and bits != 4:
        raise ValueError(f"bits is {bits}; expected 4 of AWQ")
    names = [key[: -len(".qweight")] for key in state if key.endswith(".qweight")]
    taken = set()
    layers: List[Tuple[str, Linear]] = []
    for name in names:
        try:
            layer = model.get_submodule(name)
        except AttributeError:
            raise ValueError(f"the checkpoint has a layer {name!r}; expected one that the model has") from None
        if not isinstance(layer, nn.Linear):
            raise ValueError(f"layer {name!r} of the model is {type(layer).__name__}; expected Linear")
        parts = {part: state.get(f"{name}.{part}") for part in ("qweight", "qzeros", "scales", "g_idx", "bias")}
        taken.update(f"{name}.{part}" for part in parts)
        packed = _packed(name, parts, method, bits, v2, SCALE_TYPES.get(layer.weight.dtype))
        if (packed.n, packed.k) != (layer.out_features, layer.in_features):
            raise ValueError(f"layer {name!r} of the checkpoint is {packed.n}x{packed.k}; expected {layer.out_features}x{layer.in_features}, as in the model")
        bias = parts["bias"]
        layers.append((name, Linear(packed, None if bias is None else bias.to(layer.weight.dtype))))
    for name, made in layers:
        _put(model, name, made)
    others = {key: tensor for key, tensor in state.items() if key not in taken}
    unexpected = model.load_state_dict(others, strict=False, assign=True).unexpected_keys
    if unexpected:
        raise ValueError(f"the checkpoint has a tensor {unexpected[0]!r}, of {len(unexpected)} such; expected those that the model has")
    return names


def _packed(name: str, parts: Mapping[str, Optional[Tensor]], method: str, bits: int, v2: bool, dtype: Optional[str]) -> Weights:
    missing = [part for part in ("qzeros", "scales") if parts[part] is None and not (method == "gptq" and part == "qzeros")]
    if missing:
        raise ValueError(f"layer {name!r} of the checkpoint has no {missing[0]}; expected it beside its qweight")
    if dtype is None:
        raise ValueError(f"layer {name!r} of the model is of no 16 bits; expected float16 or bfloat16")
    make: Callable[..., Any] = weights.from_awq if method == "awq" else weights.from_gptq
    more = {} if method == "awq" else {"g_idx": parts["g_idx"], "bits": bits, "v2": v2}
    try:
        return make(parts["qweight"], parts["qzeros"], parts["scales"], dtype=dtype, **more)
    except (ValueError, TypeError, Error) as why:
        raise type(why)(f"layer {name!r}: {why}") from None


def _put(model: nn.Module, name: str, layer: nn.Module) -> None:
    above, _, last = name.rpartition(".")
    setattr(model.get_submodule(above), last, layer)
