"""GGUF files of llama.cpp: their tensors by the names that models of transformers have. Read with the package gguf, which is optional."""

from __future__ import annotations

import os
import re
from typing import Any, Dict, Iterable, Mapping, Optional, Union

import torch
from torch import Tensor, nn

Path = Union[str, "os.PathLike[str]"]
PACKED = ("Q4_0", "Q8_0", "Q4_K", "Q6_K")  # those that tilesmith.weights.from_gguf repacks
# Architectures of Llama's shape. llama.cpp keeps the pairs that "llama" rotates side by side, so there the rows of q and k are in another order.
_ARCHITECTURES = ("llama", "qwen2", "qwen3")
_NAMES = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
_NAMES_OF_BLOCK = {
    "attn_norm": "input_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj", "attn_q_norm": "self_attn.q_norm", "attn_k_norm": "self_attn.k_norm", "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
}


def gguf_tensors(model: nn.Module, files: Union[Path, Iterable[Path]]) -> Dict[str, Tensor]:
    """All tensors of a model's files. Packed ones of a Linear are its parts Q4_0, Q8_0, Q4_K or Q6_K, blocks as bytes. Others, and those
    of other modules, are widened to f32 by the package gguf."""
    try:
        import gguf
    except ImportError as why:
        raise ImportError(f"GGUF files are read with the package gguf, which cannot be imported ({why}): pip install gguf") from None
    paths = [files] if isinstance(files, (str, os.PathLike)) else list(files)
    if isinstance(files, Mapping) or not all(isinstance(path, (str, os.PathLike)) for path in paths):
        raise TypeError(f"state is a {type(files).__name__}; expected the path of a GGUF file, or the paths of its parts")
    readers = [gguf.GGUFReader(path, "c") for path in paths]  # "c": its arrays may be written, and the file stays as it is
    fields = {name: field for reader in reversed(readers) for name, field in reader.fields.items()}  # those of the first file count
    architecture = bytes(_value(fields, "general.architecture", b"")).decode()
    if architecture not in _ARCHITECTURES or any(reader.byte_order != "I" for reader in readers):
        raise ValueError(f"the architecture of the GGUF file is {architecture!r}; expected {', '.join(map(repr, _ARCHITECTURES))}, in this machine's byte order")
    heads = _value(fields, f"{architecture}.attention.head_count", [0])
    of_keys = _value(fields, f"{architecture}.attention.head_count_kv", heads)
    given: Dict[str, Tensor] = {}
    for tensor in (tensor for reader in readers for tensor in reader.tensors):
        if tensor.name == "rope_freqs.weight":  # the model computes them of its config
            continue
        name, kind, data = _name_of(tensor.name), tensor.tensor_type.name, torch.from_numpy(tensor.data)
        if name in given or f"{name.rpartition('.')[0]}.{kind}" in given:
            raise ValueError(f"{tensor.name!r} is in two GGUF files; expected it in one")
        if architecture == "llama" and ".attn_q." in tensor.name:
            data = _in_order(data, heads, tensor.name)
        elif architecture == "llama" and ".attn_k." in tensor.name:
            data = _in_order(data, of_keys, tensor.name)
        layer = name.rpartition(".")[0]
        if kind in ("F32", "F16", "BF16"):  # a copy, so that no parameter is a part of the file
            given[name] = data.view(torch.bfloat16).clone() if kind == "BF16" else data.clone()
        elif kind in PACKED and not isinstance(_module(model, layer), nn.Embedding):
            given[f"{layer}.{kind}"] = data
        else:
            try:
                given[name] = torch.from_numpy(gguf.quants.dequantize(data.numpy(), tensor.tensor_type))
            except NotImplementedError:
                raise ValueError(f"{tensor.name!r} of the GGUF file is {kind}; expected F32, F16, BF16 or a type that the package gguf dequantizes") from None
    return given


def _value(fields: Any, name: str, otherwise: Any) -> Any:
    """A number is an array of one."""
    return fields[name].parts[fields[name].data[0]] if name in fields else otherwise


def _name_of(name: str) -> str:
    found = re.fullmatch(r"(?:blk\.(\d+)\.)?(\w+)\.(weight|bias)", name)
    number, part, kind = found.groups() if found else (None, "", "")
    ours = (_NAMES if number is None else _NAMES_OF_BLOCK).get(part)
    if ours is None:
        raise ValueError(f"{name!r} of the GGUF file is in no model of Llama's shape; expected others, such as 'blk.0.attn_q.weight'")
    return f"{ours}.{kind}" if number is None else f"model.layers.{number}.{ours}.{kind}"


def _in_order(data: Tensor, heads: Any, name: str) -> Tensor:
    """Rows of each head as transformers has them: the first of all pairs before the second."""
    count = int(heads[0])
    if count < 1 or data.shape[0] % (2 * count):
        raise ValueError(f"{name!r} of the GGUF file has {data.shape[0]} rows; expected a multiple of 2 for each of its {count} heads")
    return data.reshape(count, -1, 2, *data.shape[1:]).transpose(1, 2).reshape(data.shape)


def _module(model: nn.Module, name: str) -> Optional[nn.Module]:
    try:
        return model.get_submodule(name)
    except AttributeError:
        return None
