#!/usr/bin/env python3
"""A Llama-shaped model, written in plain PyTorch with random weights, before and after: as it is, and inside tilesmith.torch.enabled().

Usage: torch_llama.py [--tune TIME] [--svg FILE] [--layers N] [--hidden N] [--dtype bf16|f16] [--cases BxT,..] [--eager] [--help]

  --tune TIME    first tune the model's own shapes for so long ("2m", "8h"); the database is kept for the next start
  --svg FILE     also draw the table, as one picture
  --layers N     (default 4)        --hidden N   (default 4096; a multiple of 128)
  --dtype TYPE   (default bf16)     --cases ..   batch x tokens (default 1x1,8x1,1x128,4x512)
  --eager        time eager calls; by default CUDA graphs are replayed, so that the host's time counts for neither

Needs PyTorch and a GPU.
"""

from __future__ import annotations

import argparse
import sys
from typing import Callable, Dict, List, NamedTuple, Tuple

import torch
from torch import nn

import tilesmith
import tilesmith.torch


class Layer(nn.Module):
    """Attention of grouped queries, and a gated feed-forward."""

    def __init__(self, hidden: int, heads: int, kv_heads: int, inner: int) -> None:
        super().__init__()
        self.heads, self.kv_heads, self.size = heads, kv_heads, hidden // heads
        self.attention_norm, self.feed_norm = nn.Parameter(torch.ones(hidden)), nn.Parameter(torch.ones(hidden))
        self.qkv = nn.Linear(hidden, (heads + 2 * kv_heads) * self.size, bias=False)
        self.out = nn.Linear(hidden, hidden, bias=False)
        self.gate, self.up = nn.Linear(hidden, inner, bias=False), nn.Linear(hidden, inner, bias=False)
        self.down = nn.Linear(inner, hidden, bias=False)

    def forward(self, x: torch.Tensor, turn: Tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        batch, tokens, _ = x.shape
        qkv = self.qkv(norm(x, self.attention_norm)).view(batch, tokens, -1, self.size).transpose(1, 2)
        q, k, v = qkv.split([self.heads, self.kv_heads, self.kv_heads], dim=1)
        q, k = rotate(q, turn), rotate(k, turn)
        k, v = (t.repeat_interleave(self.heads // self.kv_heads, dim=1) for t in (k, v))
        seen = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=tokens > 1)
        x = x + self.out(seen.transpose(1, 2).reshape(batch, tokens, -1))
        y = norm(x, self.feed_norm)
        return x + self.down(nn.functional.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    def __init__(self, layers: int = 4, hidden: int = 4096, vocabulary: int = 32000) -> None:
        super().__init__()
        heads, kv_heads, inner = hidden // 128, max(hidden // 512, 1), hidden * 7 // 2
        self.embedding = nn.Embedding(vocabulary, hidden)
        self.layers = nn.ModuleList(Layer(hidden, heads, kv_heads, inner) for _ in range(layers))
        self.norm = nn.Parameter(torch.ones(hidden))
        self.head = nn.Linear(hidden, vocabulary, bias=False)

    @torch.no_grad()
    def forward(self, words: torch.Tensor) -> torch.Tensor:
        x = self.embedding(words)
        angles = torch.outer(torch.arange(words.shape[1], device=x.device), 1e4 ** (-torch.arange(0, 64, device=x.device) / 64))
        turn = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        for layer in self.layers:
            x = layer(x, turn)
        return self.head(norm(x, self.norm))


def norm(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    wide = x.float()
    return (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-5)).to(x.dtype) * weight


def rotate(x: torch.Tensor, turn: Tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
    cos, sin = turn
    x, y = x.chunk(2, dim=-1)
    return torch.cat((x * cos - y * sin, y * cos + x * sin), dim=-1)


class Row(NamedTuple):
    case: str
    before_us: float
    after_us: float
    difference: float  # of the results, relative

    @property
    def times(self) -> float:
        return self.before_us / self.after_us


def captured(model: Llama, words: torch.Tensor) -> Tuple[Callable[[], None], torch.Tensor]:
    """A graph of the model, after runs that prepare what it needs. Its replay, and its result."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(2):
            model(words)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = model(words)
    return graph.replay, result


def micros(call: Callable[[], object], repeats: int = 20) -> float:
    """The median."""
    times = []
    for _ in range(repeats):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        call()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) * 1e3)
    return sorted(times)[repeats // 2]


def compare(model: Llama, case: str, words: torch.Tensor, eager: bool) -> Row:
    """Both are timed in turn, three times, and the middle ratio is kept."""
    def serve() -> torch.Tensor:
        with tilesmith.torch.enabled():
            return model(words)

    if eager:
        before_call: Callable[[], object] = lambda: model(words)
        after_call: Callable[[], object] = lambda: model(words)
        want, got = model(words), serve()
    else:
        before_call, want = captured(model, words)
        with tilesmith.torch.enabled():
            after_call, got = captured(model, words)
        before_call(), after_call()
    torch.cuda.synchronize()
    difference = float((got.float() - want.float()).norm() / want.float().norm())
    pairs = []
    for _ in range(3):
        before = micros(before_call)
        if eager:
            with tilesmith.torch.enabled():
                pairs.append((before, micros(after_call)))
        else:
            pairs.append((before, micros(after_call)))
    before, after = sorted(pairs, key=lambda pair: pair[0] / pair[1])[1]
    return Row(case, before, after, difference)


def svg(rows: List[Row], title: str) -> str:
    """Bars of both times, one pair a case, each pair in the scale of its longer one."""
    width, step = 760, 58
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{70 + step * len(rows)}" font-family="sans-serif" font-size="13">',
             '<rect width="100%" height="100%" fill="white"/>', f'<text x="16" y="26" font-size="16">{title}</text>']
    for i, row in enumerate(rows):
        y, longest = 48 + step * i, max(row.before_us, row.after_us)
        lines.append(f'<text x="16" y="{y + 24}">{row.case}</text>')
        for shift, name, time, colour in ((0, "PyTorch", row.before_us, "#9aa5b1"), (20, "Tilesmith", row.after_us, "#1f7a4d")):
            length = 400 * time / longest
            lines.append(f'<rect x="90" y="{y + shift}" width="{length:.0f}" height="17" fill="{colour}"/>')
            lines.append(f'<text x="{96 + length:.0f}" y="{y + shift + 13}">{name} {time:,.0f} µs</text>')
        lines.append(f'<text x="{width - 16}" y="{y + 24}" text-anchor="end" font-weight="bold">{row.times:.2f}×</text>')
    return "\n".join([*lines, "</svg>\n"])


def main() -> None:
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--tune")
    parser.add_argument("--svg")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--hidden", type=int, default=4096)
    parser.add_argument("--dtype", choices=["bf16", "f16"], default="bf16")
    parser.add_argument("--cases", default="1x1,8x1,1x128,4x512")
    parser.add_argument("--eager", action="store_true")
    parser.add_argument("-h", "--help", action="store_true")
    options = parser.parse_args()
    if options.help:
        print(__doc__)
        return
    if not torch.cuda.is_available():
        sys.exit("torch_llama.py: PyTorch sees no GPU; expected a CUDA device and a PyTorch that is built for it")
    torch.manual_seed(0)
    dtype = torch.bfloat16 if options.dtype == "bf16" else torch.float16
    with torch.device("cuda"):
        model = Llama(options.layers, options.hidden).to(dtype).eval()
    cases: Dict[str, torch.Tensor] = {}
    for case in options.cases.split(","):
        batch, tokens = map(int, case.split("x"))
        cases[case] = torch.randint(0, 32000, (batch, tokens), device="cuda")

    if options.tune:
        with tilesmith.torch.enabled():
            for words in cases.values():
                model(words)
        print(f"tuning {len(tilesmith.torch.problems())} shapes for {options.tune}", file=sys.stderr)
        tilesmith.tune(tilesmith.torch.problems(), options.tune)
    rows = [compare(model, case, words, options.eager) for case, words in cases.items()]
    print(f"{'batch x tokens':>14}  {'PyTorch':>12}  {'Tilesmith':>12}  {'':>6}  {'difference':>10}")
    for row in rows:
        print(f"{row.case:>14}  {row.before_us:>9,.0f} us  {row.after_us:>9,.0f} us  {row.times:>5.2f}x  {row.difference:>10.1e}")
    print(tilesmith.torch.stats())
    if options.svg:
        with open(options.svg, "w", encoding="utf-8") as file:
            file.write(svg(rows, f"Llama-shaped, {options.layers} layers of {options.hidden}, {options.dtype}, {torch.cuda.get_device_name()}"))


if __name__ == "__main__":
    main()
