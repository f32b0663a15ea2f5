#!/usr/bin/env python3
"""A Llama-shaped model and a mixture of experts in PyTorch, with weights of several kinds: tokens a second, and errors beside f32.

  torch_quantised.py --db models.db --tune 8m    tunes the shapes of both models into a database first, which later runs read with --db

The kinds are bf16 by PyTorch, bf16 by Tilesmith, W4A16 (s4_g128 beside bf16), W4A8 (s4_g128 beside e4m3, with a scale for each row) and fp8 (e4m3 with
a scale for each 1x128 of activations and 128x128 of weights). All are made of the same random weights; embedding, head, router and attention stay bf16.
A pass is one CUDA graph and includes the rounding of activations. The kinds are timed in turns, on cold operands (side_by_side.py). The error is the
relative distance from the same model in f32, in the 2-norm, of logits or of the last layer's output, whichever is larger. A mixture's includes tokens
that go to other experts. A case is `prefill:BxT` or `decode:BxC`, as in torch_llama.py. Needs PyTorch 2.9 or newer, and a Hopper GPU or --dry-run.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import functools
import re
import statistics
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

import torch
from torch import Tensor, nn

import tilesmith.torch
from bars import Rate, rates_svg
from side_by_side import TURNS, Case, Worker, error_of, fail
from tilesmith.torch import ExpertsLinear, Fp8ExpertsLinear, Linear
from torch_llama import Llama, Sizes, in_f32, make_inputs

FP8 = "e4m3_128x128"
MOST_ERROR = 0.5  # more is no rounding
CASES = "decode:1x1024,decode:16x1024,decode:64x1024,prefill:4x512"


class Kind(NamedTuple):
    name: str
    weights: Optional[str] = None
    activations: Optional[str] = None
    around: Callable[[], Any] = contextlib.nullcontext


def gated(both: Tensor, inner: int) -> Tensor:
    """SwiGLU of two halves; layers with 4-bit weights have done it already."""
    if both.shape[-1] == inner:
        return both
    gate, up = both.chunk(2, -1)
    return nn.functional.silu(gate) * up


class Feed(nn.Module):
    """As the one of torch_llama.py, with gate and up in one product."""

    def __init__(self, hidden: int, inner: int) -> None:
        super().__init__()
        self.inner = inner
        self.gate_up, self.down = nn.Linear(hidden, 2 * inner, bias=False), nn.Linear(inner, hidden, bias=False)

    def forward(self, y: Tensor) -> Tensor:
        return self.down(gated(self.gate_up(y), self.inner))


class DenseExperts(nn.Module):
    def __init__(self, *shape: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(shape))  # experts x n x k

    def forward(self, x: Tensor, ends: Tensor) -> Tensor:
        if x.dtype is torch.bfloat16:
            return torch._grouped_mm(x, self.weight.transpose(-2, -1), offs=ends)
        begins = [0, *ends.tolist()]
        return torch.cat([x[begin:end] @ w.T for begin, end, w in zip(begins, begins[1:], self.weight)])


class Experts(nn.Module):
    """`top` of the experts, each a SwiGLU of `inner`, compute each token. Rows are sorted by experts, so that each product is a grouped one."""

    def __init__(self, hidden: int, experts: int, inner: int, top: int) -> None:
        super().__init__()
        self.inner, self.top = inner, top
        self.router = nn.Linear(hidden, experts, bias=False)
        self.gate_up, self.down = DenseExperts(experts, 2 * inner, hidden), DenseExperts(experts, hidden, inner)
        self.register_buffer("numbers", torch.arange(experts))

    def forward(self, y: Tensor) -> Tensor:
        x = y.reshape(-1, y.shape[-1])
        share, chosen = self.router(x).float().softmax(-1).topk(self.top)
        sorted_experts, order = chosen.flatten().sort(stable=True)
        ends = torch.searchsorted(sorted_experts, self.numbers, right=True, out_int32=True)
        made = self.down(gated(self.gate_up(x[order // self.top], ends), self.inner), ends)
        back = torch.empty_like(made)
        back[order] = made
        share = (share / share.sum(-1, keepdim=True)).to(x.dtype)
        return (back.view(-1, self.top, x.shape[-1]) * share.unsqueeze(-1)).sum(1).view_as(y)


@torch.no_grad()
def make_model(sizes: Sizes, feed: Callable[[], nn.Module], device: str) -> Llama:
    """With weights that keep the variance, so that the layers have a part in the results and their errors."""
    with torch.device(device):
        model = Llama(sizes)
        for layer in model.layers:
            layer.feed = feed()
    for weight in model.parameters():
        if weight.dim() > 1 and weight is not model.embedding.weight:
            weight.normal_(std=weight.shape[-1] ** -0.5)
    return model.bfloat16().eval()


def of_kind(model: Llama, kind: Kind) -> Llama:
    if kind.weights is None:
        return model
    made = copy.deepcopy(model)
    how: Dict[str, Any] = {"kind": kind.weights, "activations": kind.activations}
    for feed in (layer.feed for layer in made.layers):
        if isinstance(feed, Experts) and kind.weights == FP8:
            feed.gate_up, feed.down = (Fp8ExpertsLinear.from_dense(dense.weight) for dense in (feed.gate_up, feed.down))
        elif isinstance(feed, Experts):
            feed.gate_up = ExpertsLinear.from_dense(feed.gate_up.weight, **how, activation="swiglu")
            feed.down = ExpertsLinear.from_dense(feed.down.weight, **how)
        elif kind.weights != FP8:
            feed.gate_up = Linear.from_linear(feed.gate_up, **how, activation="swiglu")
    tilesmith.torch.quantize_(made, skip=("head", "router"), **how)
    return made


@torch.no_grad()
def make_workers(name: str, model: Llama, kinds: Sequence[Kind], cases: str, device: str) -> Tuple[Dict[Kind, Worker], Dict[str, int]]:
    """A worker for each kind, and the tokens of a pass of each case. All kinds compute the same words, keys and values."""
    made, exact = {kind: of_kind(model, kind) for kind in kinds}, copy.deepcopy(model).float()
    of_kinds: Dict[Kind, List[Case]] = {kind: [] for kind in kinds}
    tokens = {}
    for case, words, past in (make_inputs(text, model) for text in cases.split(",")):
        want = exact(words, in_f32(past))
        tokens[f"{name}, {case}"] = words.numel()
        for kind in kinds:
            of_kinds[kind].append(Case(f"{name}, {case}", functools.partial(made[kind], words, past), lambda want=want: want))
    return {kind: Worker(of_kinds[kind], device, kind.around) for kind in kinds}, tokens


def measure(workers: Dict[Kind, Worker], tokens: Dict[str, int], launch: str, calls: int) -> List[Rate]:
    rates = []
    for case, count in tokens.items():
        errors = {kind: error_of(worker.results(case, launch), worker.cases[case].exact()) for kind, worker in workers.items()}
        times: Dict[Kind, List[float]] = {kind: [] for kind in workers}
        for turn in range(TURNS):
            for kind in list(workers)[:: 1 if turn % 2 == 0 else -1]:
                times[kind].append(workers[kind].micros(case, launch, calls))
        medians = {kind: statistics.median(of) for kind, of in times.items()}
        for kind, us in medians.items():
            rates.append(rate := Rate(case, kind.name, count / us * 1e6, errors[kind]))
            print(f"{case:24} {kind.name:14} {us:>9,.1f} us {rate.tokens_per_s:>11,.0f} tokens/s {next(iter(medians.values())) / us:>5.2f}x  "
                  f"error {rate.error:.1e}{'' if rate.error <= MOST_ERROR else '  WRONG'}", flush=True)
    return rates


def run_all(workers: Sequence[Dict[Kind, Worker]], around: Callable[[], Any]) -> Any:
    """Once, in one enabled()."""
    with torch.no_grad(), around() as serving:
        for worker in (worker for of_model in workers for kind, worker in of_model.items() if kind.around is around):
            for case in worker.cases.values():
                case.call()
    return serving


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", metavar="CASE,..", default=CASES, help="(default: %(default)s)")
    parser.add_argument("--model", choices=["llama", "mixture", "both"], default="both", help="(default: %(default)s)")
    parser.add_argument("--layers", type=int, default=4, help="(default: %(default)s)")
    parser.add_argument("--hidden", type=int, default=4096, help="of the Llama-shaped model, a multiple of 512 (default: %(default)s)")
    parser.add_argument("--mixture", metavar="HxExIxK", default="2048x64x768x8", help="hidden, experts, their inner size, experts a token (default: %(default)s)")
    parser.add_argument("--db", metavar="FILE", help="a database, which is used and tuned (default: your own)")
    parser.add_argument("--tune", metavar="TIME", help='first tune the shapes of both models for so long ("8m")')
    parser.add_argument("--calls", type=int, default=20, help="calls that a median is of (default: %(default)s)")
    parser.add_argument("--svg", metavar="FILE", help="draw the table, as one picture")
    parser.add_argument("--dry-run", action="store_true", help="tiny models on the CPU, which show that everything works")
    options = parser.parse_args()
    found = re.fullmatch(r"(\d{1,5})x(\d{1,4})x(\d{1,5})x(\d{1,3})", options.mixture)
    hidden, experts, inner, top = map(int, found.groups()) if found else (0, 0, 0, 0)
    if options.calls < 1 or options.layers < 1 or options.hidden < 512 or options.hidden % 512:
        fail(f"--calls {options.calls} --layers {options.layers} --hidden {options.hidden}: expected a call, a layer, and a multiple of 512")
    if hidden < 512 or hidden % 512 or inner < 128 or inner % 128 or not 1 <= top <= experts:
        fail(f"--mixture {options.mixture}: expected HxExIxK, H a multiple of 512, I of 128, and K of 1 to E")
    if not options.dry_run and not torch.cuda.is_available():
        fail("PyTorch sees no GPU; expected a CUDA device and a PyTorch that is built for it, or --dry-run")
    device, launch, s4, layers = ("cpu", "eager", "s4_g32", 2) if options.dry_run else ("cuda", "graph", "s4_g128", options.layers)
    if options.dry_run:
        options.hidden, hidden, experts, inner, top = 64, 64, 8, 32, 2
        options.cases = "decode:2x9,prefill:2x5" if options.cases == CASES else options.cases
    enabled = functools.partial(tilesmith.torch.enabled, _key=device.upper())
    kinds = [Kind("bf16, PyTorch"), Kind("bf16", around=enabled), Kind("W4A16", s4, None, enabled), Kind("W4A8", s4, "e4m3", enabled),
             Kind("fp8", FP8, None, enabled)]
    torch.manual_seed(0)
    sizes = Sizes(layers, options.hidden, 8 if options.dry_run else 128, 97 if options.dry_run else 32000)
    models = {"Llama": make_model(sizes, lambda: Feed(sizes.hidden, sizes.inner), device)} if options.model != "mixture" else {}
    if options.model != "llama":
        models["mixture"] = make_model(sizes._replace(hidden=hidden), lambda: Experts(hidden, experts, inner, top), device)
    if options.db and not options.tune:
        tilesmith.set_default(tilesmith.open(options.db))
    made = [make_workers(name, model, kinds, options.cases, device) for name, model in models.items()]
    workers = [of_model for of_model, _ in made]
    if options.tune:
        problems = run_all(workers, enabled).problems()
        print(f"tuning {len(problems)} problems for {options.tune}", flush=True)
        tilesmith.tune(problems, options.tune, database=options.db)
        with enabled(prepare=problems):
            pass  # their kernels are compiled on all cores
    rates = [rate for of_model, tokens in made for rate in measure(of_model, tokens, launch, options.calls)]
    print(f"a pass of each case: {run_all(workers, enabled).stats()}")
    if options.svg:
        title = f"Tokens a second with weights of several kinds, PyTorch, {'CPU' if options.dry_run else torch.cuda.get_device_name()}"
        with open(options.svg, "w", encoding="utf-8") as file:
            file.write(rates_svg(rates, title, f"{layers} layers. Medians of {options.calls} calls on cold operands, in turns. "
                                 f"Errors beside the same model in f32. PyTorch {torch.__version__}"))
    wrong = [f"{rate.case}, {rate.kind}" for rate in rates if not rate.error <= MOST_ERROR]
    if wrong:
        fail(f"{'; '.join(wrong)}: expected an error of at most {MOST_ERROR}")


if __name__ == "__main__":
    try:
        main()
    except tilesmith.Error as why:
        fail(str(why))
