#!/usr/bin/env python3
"""A Llama-shaped model in plain PyTorch, before and after: RMSNorm, rotary positions, grouped-query attention, SwiGLU; random weights.

  torch_llama.py --tune 2m                       tunes the model's shapes, then serves them in this process: tilesmith.torch.enabled()
  torch_llama.py --shim app.db --tune 2m         the same without a line of Tilesmith's in the process: capture, tune, run
  tilesmith run --db app.db -- python3 torch_llama.py --plain
  torch_llama.py --weights s4_g128 --tune 2m     with weights rounded to 4 bits, beside PyTorch with the same weights in 16: tilesmith.torch.quantize_()

Prints one table; --svg FILE draws it. A case is `prefill:BxT`, B sequences of T tokens, or `decode:BxC`, one token more for each of B
sequences, the last of C with its keys and values. Needs PyTorch 2.3 or newer, and a GPU or --dry-run.
"""

from __future__ import annotations

import argparse
import copy
import re
from typing import List, NamedTuple, Optional, Tuple

import torch
from torch import nn

from side_by_side import Case, Tensors, fail, main

Pair = Tuple[torch.Tensor, torch.Tensor]
attention = nn.functional.scaled_dot_product_attention


class Sizes(NamedTuple):
    layers: int
    hidden: int
    head: int  # elements of a head
    vocabulary: int

    @property
    def heads(self) -> int:
        return self.hidden // self.head

    @property
    def kv_heads(self) -> int:
        """Four query heads share a key head."""
        return max(self.heads // 4, 1)

    @property
    def inner(self) -> int:
        return self.hidden * 7 // 2


class Feed(nn.Module):
    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.gate, self.up = nn.Linear(sizes.hidden, sizes.inner, bias=False), nn.Linear(sizes.hidden, sizes.inner, bias=False)
        self.down = nn.Linear(sizes.inner, sizes.hidden, bias=False)

    def forward(self, y: torch.Tensor) -> torch.Tensor:
        return self.down(nn.functional.silu(self.gate(y)) * self.up(y))


class Layer(nn.Module):
    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.sizes, hidden = sizes, sizes.hidden
        self.attention_norm, self.feed_norm = nn.Parameter(torch.ones(hidden)), nn.Parameter(torch.ones(hidden))
        self.qkv = nn.Linear(hidden, (sizes.heads + 2 * sizes.kv_heads) * sizes.head, bias=False)
        self.out = nn.Linear(hidden, hidden, bias=False)
        self.feed: nn.Module = Feed(sizes)

    def forward(self, x: torch.Tensor, turn: Pair, past: Optional[Pair]) -> torch.Tensor:
        """x: batch x tokens x hidden. past: keys and values, batch x kv_heads x context x head, whose last place is this token's; None: x is
        all there is."""
        batch, tokens, hidden = x.shape
        heads, kv_heads = self.sizes.heads, self.sizes.kv_heads
        qkv = self.qkv(norm(x, self.attention_norm)).view(batch, tokens, heads + 2 * kv_heads, self.sizes.head).transpose(1, 2)
        q, k, v = qkv.split([heads, kv_heads, kv_heads], dim=1)
        q, k = rotate(q, turn), rotate(k, turn)
        if past is None:
            k, v = (one.repeat_interleave(heads // kv_heads, dim=1) for one in (k, v))
            seen = attention(q, k, v, is_causal=True)
        else:
            keys, values = past
            keys[:, :, -1:], values[:, :, -1:] = k, v
            # The queries that share a key are rows of one matrix.
            seen = attention(q.reshape(batch, kv_heads, heads // kv_heads, self.sizes.head), keys, values).reshape(batch, heads, 1, self.sizes.head)
        x = x + self.out(seen.transpose(1, 2).reshape(batch, tokens, hidden))
        return x + self.feed(norm(x, self.feed_norm))


class Llama(nn.Module):
    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.sizes = sizes
        self.embedding = nn.Embedding(sizes.vocabulary, sizes.hidden)
        self.layers = nn.ModuleList(Layer(sizes) for _ in range(sizes.layers))
        self.norm = nn.Parameter(torch.ones(sizes.hidden))
        self.head = nn.Linear(sizes.hidden, sizes.vocabulary, bias=False)

    def forward(self, words: torch.Tensor, past: Optional[List[Pair]] = None) -> Tensors:
        """words: batch x tokens. Gives the last token's logits, and the last layer's output."""
        context = words.shape[1] if past is None else past[0][0].shape[2]
        turn = self._turn(torch.arange(context - words.shape[1], context, device=words.device))
        x = self.embedding(words)
        for index, layer in enumerate(self.layers):
            x = layer(x, turn, None if past is None else past[index])
        x = norm(x, self.norm)
        return self.head(x[:, -1]), x

    def _turn(self, positions: torch.Tensor) -> Pair:
        half = self.sizes.head // 2
        angles = torch.outer(positions, 1e4 ** (-torch.arange(half, device=positions.device) / half))
        dtype = self.head.weight.dtype
        return angles.cos().to(dtype), angles.sin().to(dtype)


def norm(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    wide = x.float()
    return (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-5)).to(x.dtype) * weight


def rotate(x: torch.Tensor, turn: Pair) -> torch.Tensor:
    cos, sin = turn
    x, y = x.chunk(2, dim=-1)
    return torch.cat((x * cos - y * sin, y * cos + x * sin), dim=-1)


def rounded(model: Llama, exact: Llama, kind: str) -> Llama:
    """The model with weights of that kind in all layers but its head. The two given get the weights that these stand for."""
    import tilesmith.torch

    made = copy.deepcopy(model)
    for name in tilesmith.torch.quantize_(made, kind, skip=("head",)):
        layer = made.get_submodule(name)
        dense = tilesmith.torch.dequantized(layer.codes, layer.scales, layer.zeros, layer.kind, layer.in_features)
        model.get_submodule(name).weight.data.copy_(dense)
        exact.get_submodule(name).weight.data.copy_(dense)
    return made


def make_inputs(text: str, model: Llama) -> Tuple[str, torch.Tensor, Optional[List[Pair]]]:
    """A case's name, and what a pass of it takes: words, and the keys and values before them."""
    found = re.fullmatch(r"(prefill|decode):([1-9]\d{0,4})x([1-9]\d{0,5})", text)
    if found is None:
        fail(f"--cases {text}: expected prefill:BxT or decode:BxC, two numbers")
    phase, batch, tokens = found[1], int(found[2]), int(found[3])
    weight, sizes = model.head.weight, model.sizes
    words = torch.randint(0, sizes.vocabulary, (batch, tokens if phase == "prefill" else 1), device=weight.device)
    past = None
    if phase == "decode":
        shape = (batch, sizes.kv_heads, tokens, sizes.head)
        past = [(torch.randn(shape, device=weight.device, dtype=weight.dtype), torch.randn(shape, device=weight.device, dtype=weight.dtype))
                for _ in range(sizes.layers)]
    return f"{phase} {batch}x{tokens}", words, past


def in_f32(past: Optional[List[Pair]]) -> Optional[List[Pair]]:
    return None if past is None else [(keys.float(), values.float()) for keys, values in past]


def make_case(text: str, model: Llama, exact: Llama, after: Optional[Llama]) -> Case:
    name, words, past = make_inputs(text, model)
    exact_past = in_f32(past)
    return Case(name, lambda: model(words, past), lambda: exact(words, exact_past),
                None if after is None else lambda: after(words, past))


def make_cases(options: argparse.Namespace, device: str) -> List[Case]:
    if options.layers < 1 or options.hidden < 512 or options.hidden % 512:
        fail(f"--layers {options.layers} --hidden {options.hidden}: expected a layer, and a multiple of 512")
    sizes = Sizes(2, 64, 8, 97) if options.dry_run else Sizes(options.layers, options.hidden, 128, 32000)
    with torch.device(device):
        model = Llama(sizes).to({"bf16": torch.bfloat16, "f16": torch.float16}[options.dtype]).eval()
    exact = copy.deepcopy(model).float()
    if options.weights and (options.shim or options.plain):
        fail("--weights: expected neither --shim nor --plain, whose processes know nothing of Tilesmith")
    after = rounded(model, exact, "s4_g32" if options.dry_run else options.weights) if options.weights else None
    given = options.cases or ("prefill:2x5,decode:2x9" if options.dry_run else "prefill:1x128,prefill:4x512,decode:1x1024,decode:8x1024")
    return [make_case(text, model, exact, after) for text in given.split(",")]


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", metavar="CASE,..", help="(default: prefill:1x128,prefill:4x512,decode:1x1024,decode:8x1024)")
    parser.add_argument("--layers", type=int, default=4, help="(default: %(default)s)")
    parser.add_argument("--hidden", type=int, default=4096, help="a multiple of 512 (default: %(default)s)")
    parser.add_argument("--weights", metavar="KIND", help="s4_g128, u4_g64+zeros, s8_column, ...: as tilesmith.torch.quantize has them (a dry run's are s4_g32)")
    parser.add_argument("--dtype", choices=["bf16", "f16"], default="bf16", help="(default: %(default)s)")
    return parser


if __name__ == "__main__":
    main(make_parser(), "Llama-shaped model, PyTorch, {device}", make_cases)
