"""Models with weights in 4 or 8 bits: of a dense model by rounding, and of checkpoints."""

from __future__ import annotations

import warnings
from typing import Any, Dict, FrozenSet, Iterable, List, Mapping, Optional, Set, Union

from torch import Tensor, nn

from ._checkpoint import FORMATS, OF_BYTES, Packed, collected, dense_tensors, read_layers
from ._fp8 import FP8, Fp8Linear, Fp8Weights, fp8_rounded
from ._gguf import Path, gguf_tensors
from ._linear import Linear
from ._rounding import SCALE_TYPES, check_finite, check_name, parse_kind, quantize


def quantize_(model: nn.Module, kind: str = "s4_g128", *, skip: Iterable[str] = ("lm_head",), activations: Optional[str] = None) -> List[str]:
    """Puts a Linear with weights in the place of each torch.nn.Linear of a model, rounded by quantize(). Their names are returned. skip: names, whole or
    their last part. Nothing is changed if a layer cannot be of that kind. Subclasses of torch.nn.Linear stay as they are.
    activations: None, or "e4m3" or "s8" for kinds of s4, u4 and e2m1: the layers round each row of x to that and multiply in 8 bits.
    kind "e4m3_128x128": the layers are Fp8Linear, as of checkpoints in 8-bit floats, and round x to e4m3 themselves.

    Layers that share a weight share what is made of it. A weight that another module holds too (an embedding, a layer in `skip`) is not rounded, and a
    warning says so: rounded, it would no longer be the other's."""
    multiple, left = _multiple_of(kind, activations), frozenset((skip,) if isinstance(skip, str) else skip)
    if type(model) is nn.Linear:
        raise ValueError("model is a Linear itself; expected a module that has some: tilesmith.torch.Linear.from_linear makes one of it")
    groups, shared = _to_round(model, multiple, left), _shared(model)
    for group in groups:
        dense: Any = model.get_submodule(group[0][0])
        packed = fp8_rounded(dense.weight) if kind == FP8 else quantize(dense.weight, kind, activations)
        del dense  # so that it goes when its layers do
        for names in group:
            _put(model, names, packed, shared, activations)
    return [name for group in groups for names in group for name in names]


def _multiple_of(kind: str, activations: Optional[str]) -> int:
    """Of how many its columns must be a multiple."""
    if kind != FP8:
        return parse_kind(kind, activations).group or 1
    if activations is not None:
        raise ValueError(f"activations is {activations!r}; expected None of {FP8!r}, whose layers round to e4m3")
    return 1


def _to_round(model: nn.Module, multiple: int, left: FrozenSet[str]) -> List[List[List[str]]]:
    """The names of the layers of each weight."""
    names, holders = _names_of(model), _holders(model)
    groups: Dict[int, List[List[str]]] = {}

    def stays(module: nn.Module) -> bool:
        return type(module) is not nn.Linear or any(name in left or name.rpartition(".")[2] in left for name in names[module])

    for layer in names:
        if not isinstance(layer, nn.Linear) or stays(layer):
            continue
        name, weight = names[layer][0], layer.weight
        other = next((module for module in holders.get(id(weight), ()) if stays(module)), None)
        if other is not None:
            warnings.warn(f"layer {name!r} is not rounded: its weight is also that of {names[other][0]!r}, which stays as it is", stacklevel=3)
            continue
        if weight.dtype not in SCALE_TYPES or layer.in_features % multiple or not weight.numel():
            raise ValueError(f"layer {name!r} is {layer.out_features}x{layer.in_features} of {weight.dtype}; expected float16 or bfloat16 and a "
                             f"multiple of {multiple} columns, or its name in skip")
        check_finite(weight, f"layer {name!r}")
        groups.setdefault(id(weight), []).append(names[layer])
    return list(groups.values())


def load_quantized_(model: nn.Module, state: Union[Mapping[str, Tensor], Iterable[Mapping[str, Tensor]], Path, Iterable[Path]], method: str, *, bits: int = 4,
                    v2: bool = False, dtype: Optional[str] = None, activations: Optional[str] = None) -> List[str]:
    """Loads a checkpoint that GPTQ ("gptq"), AWQ ("awq") or bitsandbytes in NF4 ("bnb") made, or one of 8-bit floats with scales of 128x128, as DeepSeek and
    Qwen publish them ("fp8"), into a model that was built as its config says. A layer whose packed weight is there becomes a Linear with weights, or an
    Fp8Linear, on the device of the tensors; the names of these layers are returned. All other tensors are loaded, in the types that the model has.
    What is one tensor or module in the model stays one. Nothing is changed if something does not fit.

    state: the files of the checkpoint, an iterable of mappings of names to tensors. A layer's parts may be in several files. What no file has is refused by its
    name, but for the bias of a packed layer: it stays the model's own. Or one mapping, which may lack tensors and layers, but no part of a layer.
    "gguf": state is the path of a GGUF file of llama.cpp, or of all parts of one, of an architecture of Llama's shape. Its Linear layers are Q4_0, Q8_0, Q4_K,
    Q6_K or dense. It needs the package gguf.
    model: may be on the device "meta". bits, v2: as from_gptq() has them; a config calls v2 `checkpoint_format`. Act-order is refused ("desc_act" with its
    g_idx). dtype: of scales as they are kept, by default the type of the layer's weight; "f32" rounds none of bitsandbytes'. "fp8" keeps f32.
    activations: None, or "e4m3" or "s8" of "gptq" and "awq" in 4 bits: as of quantize_()."""
    if method not in FORMATS:
        raise ValueError(f"method is {method!r}; expected {', '.join(map(repr, FORMATS))}")
    if method != "gptq" and bits != 4:
        raise ValueError(f"bits is {bits}; expected 4 of {method!r}")
    if method == "fp8" and dtype not in (None, "f32"):
        raise ValueError(f"dtype is {dtype!r}; expected None or 'f32' of 'fp8'")
    check_name(activations)
    if activations is not None and (method not in OF_BYTES or bits != 4):
        raise ValueError(f"activations is {activations!r}; expected None of {method!r}{' in 8 bits' if bits == 8 else ''}: {' and '.join(map(repr, OF_BYTES))} in 4 bits may have it")
    if method == "gguf":
        files: Any = state
        state = [gguf_tensors(model, files)]
    given, here, names = collected(state), {key: old for key, old in model.state_dict(keep_vars=True).items() if isinstance(old, Tensor)}, _names_of(model)
    layers = read_layers(model, given, here, _holders(model), method, dtype, bits, v2, activations)
    added: Dict[nn.Linear, Tensor] = {}  # biases of the checkpoint that the model lacks
    for layer in layers:
        for key in (f"{name}.bias" for name in names[layer] if layer.bias is None and f"{name}.bias" in given):
            here[key] = added.setdefault(layer, layer.weight.new_empty(layer.out_features, device="meta"))
    packed, own = {id(layer.weight) for layer in layers}, {id(layer.bias) for layer in layers}
    fresh = dense_tensors(given, here, packed)
    missing = [key for key, old in here.items() if id(old) not in (fresh.keys() | packed) and (old.is_meta or isinstance(old, nn.Parameter) and id(old) not in own)]
    if missing and not isinstance(state, Mapping):
        raise ValueError(f"no file of the checkpoint has {missing[0]!r}, the first of {len(missing)} such; expected all tensors of the model")
    for module in names:  # here the model begins to change
        for key, old in (*module._parameters.items(), *module._buffers.items()):
            if id(old) in fresh:
                setattr(module, key, fresh[id(old)])
    for layer, bias in added.items():
        layer.bias = nn.Parameter(fresh[id(bias)], requires_grad=False)
    shared = _shared(model)
    for layer, made in layers.items():
        _put(model, names[layer], made, shared, activations)
    return [name for layer in layers for name in names[layer]]


def _names_of(model: nn.Module) -> Dict[nn.Module, List[str]]:
    """A module that is in several places has several."""
    names: Dict[nn.Module, List[str]] = {}
    for name, module in model.named_modules(remove_duplicate=False):
        names.setdefault(module, []).append(name)
    return names


def _holders(model: nn.Module) -> Dict[int, List[nn.Module]]:
    """The modules that hold a tensor, by its id."""
    holders: Dict[int, List[nn.Module]] = {}
    for module in model.modules():
        for tensor in (*module._parameters.values(), *module._buffers.values()):
            holders.setdefault(id(tensor), []).append(module)
    return holders


def _shared(model: nn.Module) -> Set[int]:
    return {key for key, modules in _holders(model).items() if len(modules) > 1}


def _put(model: nn.Module, names: List[str], packed: Packed, shared: Set[int], activations: Optional[str] = None) -> None:
    """With the layer's bias, which has no gradient then. One that another module holds too stays that object."""
    bias: Any = model.get_submodule(names[0]).bias
    if bias is not None:
        bias = bias.requires_grad_(False) if id(bias) in shared else bias.detach()
    bias = bias if bias is None or bias.is_meta else bias.to(packed.codes.device)
    made = Fp8Linear(packed.weight, packed.scales, bias) if isinstance(packed, Fp8Weights) else Linear(packed, bias, None, activations)
    for name in names:
        above, _, last = name.rpartition(".")
        setattr(model.get_submodule(above), last, made)
