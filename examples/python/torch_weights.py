"""A linear layer with weights in 4 bits: by Tilesmith, by PyTorch's own _weight_int4pack_mm, and dequantised in bf16 by torch.nn.functional.linear.

    python examples/python/torch_weights.py [--db tuned.db] [--m 1,16,256] [--layers 4096x14336,8192x8192] [--group 128]

Layers are n x k: outputs x inputs. All three are timed in turn, in captured graphs, on enough copies of the weights that none is in the L2.
Results are compared with those of the dequantised weights first. Without a database kernels are predicted, not tuned; `tilesmith tune` with
the workload that --workload FILE writes tunes them.
"""

from __future__ import annotations

import argparse
import statistics
from typing import Callable, Dict, List

import torch

import tilesmith
import tilesmith.torch
from tilesmith import weights

RUNS = 7


def captured(calls: List[Callable[[], object]]) -> torch.cuda.CUDAGraph:
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for call in calls:
            call()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for call in calls:
            call()
    return graph


def microseconds(graph: torch.cuda.CUDAGraph, calls: int) -> float:
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    graph.replay()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1e3 / calls


class Layer:
    """One layer's weights in all three forms, from the same codes."""

    def __init__(self, n: int, k: int, group: int, seed: int) -> None:
        made = torch.Generator(device="cuda").manual_seed(seed)
        codes = torch.randint(0, 16, (n, k), dtype=torch.uint8, device="cuda", generator=made)
        scales = (torch.rand(k // group, n, device="cuda", generator=made) * 0.01 + 0.005).bfloat16()
        self.packed = weights.pack(codes, scales, type="s4")
        self.dense = ((codes.float() - 8) * scales.float().repeat_interleave(group, 0).T).bfloat16()
        self.group = group
        halves = codes[:, ::2] << 4 | codes[:, 1::2]
        try:
            self.peer = torch.ops.aten._convert_weight_to_int4pack(halves, 8)
        except RuntimeError:  # of PyTorch before 2.5
            self.peer = torch.ops.aten._convert_weight_to_int4pack(codes.int(), 8)
        self.peer_scales = torch.stack((scales, torch.zeros_like(scales)), dim=-1).contiguous()


def compare(m: int, n: int, k: int, group: int) -> Dict[str, float]:
    x = torch.randn(m, k, device="cuda").bfloat16()
    copies = max(2, -(-2 * torch.cuda.get_device_properties(0).L2_cache_size // (n * k // 2)))
    layers = [Layer(n, k, group, seed) for seed in range(copies)]
    ways: Dict[str, Callable[[Layer], torch.Tensor]] = {
        "tilesmith": lambda layer: tilesmith.torch.linear(x, layer.packed),
        "int4pack": lambda layer: torch.ops.aten._weight_int4pack_mm(x, layer.peer, layer.group, layer.peer_scales),
        "bf16": lambda layer: torch.nn.functional.linear(x, layer.dense),
    }
    graphs = {}
    for name, way in ways.items():
        want, got = torch.nn.functional.linear(x.float(), layers[0].dense.float()), way(layers[0]).float()
        error = ((got - want).abs().max() / want.abs().max()).item()
        if not error < 0.02:
            raise SystemExit(f"{name} is off by {error:.3f} of the largest result at m={m}, n={n}, k={k}")
        graphs[name] = captured([lambda way=way, layer=layer: way(layer) for layer in layers])
    times: Dict[str, List[float]] = {name: [] for name in ways}
    for _ in range(RUNS):
        for name, graph in graphs.items():
            times[name].append(microseconds(graph, copies))
    return {name: statistics.median(of) for name, of in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--db", help="a tuned database or bundle; default: as tilesmith.gemm opens one")
    parser.add_argument("--m", default="1,8,16,64,256")
    parser.add_argument("--layers", default="8192x8192,4096x14336,14336x4096")
    parser.add_argument("--group", type=int, default=128)
    parser.add_argument("--workload", help="write the problems here, for `tilesmith tune --workload`, and stop")
    given = parser.parse_args()
    shapes = [(m, *map(int, layer.split("x"))) for layer in given.layers.split(",") for m in map(int, given.m.split(","))]
    if given.workload:
        with open(given.workload, "w") as file:
            file.writelines(f"{tilesmith.Problem('bf16f32bf16', 'NT', m, n, k, weights=f's4_g{given.group}')}\n" for m, n, k in shapes)
        return
    if given.db:
        tilesmith.set_default(tilesmith.open(given.db))
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, weights s4 in groups of {given.group}; µs a layer, cold")
    print(f"{'m':>5} {'n':>6} {'k':>6} {'tilesmith':>10} {'int4pack':>10} {'bf16':>10}   level")
    for m, n, k in shapes:
        of = compare(m, n, k, given.group)
        problem = tilesmith.Problem("bf16f32bf16", "NT", m, n, k, weights=f"s4_g{given.group}")
        level = tilesmith.default_library(0).explain(problem).level
        print(f"{m:>5} {n:>6} {k:>6} {of['tilesmith']:>10.2f} {of['int4pack']:>10.2f} {of['bf16']:>10.2f}   {level}", flush=True)


if __name__ == "__main__":
    main()
