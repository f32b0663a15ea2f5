#!/usr/bin/env python3
"""A BERT-shaped model in plain PyTorch, before and after: linear layers with bias and GELU, attention by two bmm; random weights.

  torch_bert.py --tune 2m                        tunes the model's shapes, then serves them in this process: tilesmith.torch.enabled()
  torch_bert.py --shim app.db --tune 2m          the same without a line of Tilesmith's in the process: capture, tune, run
  tilesmith run --db app.db -- python3 torch_bert.py --plain

Prints one table; --svg FILE draws it. A case is TYPE:BxT: B sequences of T tokens. Needs PyTorch 2.3 or newer, and a GPU or --dry-run.
"""

from __future__ import annotations

import argparse
import copy
import re
from typing import Dict, List

import torch
from torch import nn

from side_by_side import Case, Tensors, fail, main

TYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}


class Block(nn.Module):
    def __init__(self, hidden: int, heads: int) -> None:
        super().__init__()
        self.heads, self.scale = heads, (hidden // heads) ** -0.5
        self.qkv, self.out = nn.Linear(hidden, 3 * hidden), nn.Linear(hidden, hidden, bias=False)
        self.up, self.down = nn.Linear(hidden, 4 * hidden), nn.Linear(4 * hidden, hidden)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: batch x tokens x hidden."""
        batch, tokens, hidden = x.shape
        size = hidden // self.heads
        qkv = self.qkv(x).view(batch, tokens, 3, self.heads, size).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.reshape(3, batch * self.heads, tokens, size)
        seen = torch.bmm(torch.softmax(torch.bmm(q, k.transpose(1, 2)) * self.scale, -1), v)
        x = x + self.out(seen.view(batch, self.heads, tokens, size).transpose(1, 2).reshape(batch, tokens, hidden))
        return x + self.down(nn.functional.gelu(self.up(x), approximate="tanh"))


def make_case(text: str, models: Dict[str, nn.Module], hidden: int, device: str) -> Case:
    found = re.fullmatch(r"(f16|bf16|f32):([1-9]\d{0,4})x([1-9]\d{0,5})", text)
    if found is None:
        fail(f"--cases {text}: expected f16:BxT, bf16:BxT or f32:BxT, two numbers")
    dtype, batch, tokens = found[1], int(found[2]), int(found[3])
    if dtype not in models:
        models[dtype] = copy.deepcopy(models["f32"]).to(TYPES[dtype])
    model, exact = models[dtype], copy.deepcopy(models[dtype]).double()
    x = torch.randn(batch, tokens, hidden, device=device).to(TYPES[dtype])

    def of(network: nn.Module, x: torch.Tensor) -> Tensors:
        return (network(x),)

    return Case(f"{dtype} {batch}x{tokens}", lambda: of(model, x), lambda: of(exact, x.double()))


def make_cases(options: argparse.Namespace, device: str) -> List[Case]:
    blocks, hidden, heads = (2, 48, 3) if options.dry_run else (4, 768, 12)
    with torch.device(device):
        models: Dict[str, nn.Module] = {"f32": nn.Sequential(*(Block(hidden, heads) for _ in range(blocks))).eval()}
    given = options.cases or ("bf16:2x5,f32:2x5" if options.dry_run else "f16:1x16,f16:8x128,bf16:1x16,bf16:8x128,f32:1x16,f32:8x128")
    return [make_case(text, models, hidden, device) for text in given.split(",")]


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", metavar="CASE,..", help="(default: each type with 1x16 and 8x128)")
    return parser


if __name__ == "__main__":
    main(make_parser(), "BERT-shaped model, 4 blocks of 768, PyTorch, {device}", make_cases)
