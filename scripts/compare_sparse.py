#!/usr/bin/env python3
"""2:4 sparse products beside dense ones and beside cuSPARSELt's best algorithm (torch._cslt_sparse_mm), timed in turn on cold operands.

Usage: compare_sparse.py [--db FILE] [--rounds N] [PROBLEM ...]     PROBLEM: type:M:N:K, by default those of docs/notes/sparse.md

Needs PyTorch with cuSPARSELt, and the tilesmith package. The left operand is sparse; the right one lies in rows along K. Prints microseconds, the
median of the rounds. An algorithm of cuSPARSELt that fails is left out.
"""

import argparse
import statistics

import torch

import tilesmith

TYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "s8": torch.int8}
USUAL = ["f16:4096:4096:4096", "f16:8192:8192:8192", "bf16:4096:4096:4096", "bf16:8192:8192:8192", "s8:4096:4096:4096", "f16:4096:16:4096"]
COLD_BYTES = 256 << 20


def operand(rows, columns, dtype):
    if dtype is torch.int8:
        return torch.randint(-128, 128, (rows, columns), dtype=dtype, device="cuda")
    return (torch.rand(rows, columns, device="cuda") * 2 - 1).to(dtype)


def sparse_operand(rows, columns, dtype):
    """Random places: no prune(), which would leave the largest."""
    order = torch.rand(rows, columns // 4, 4, device="cuda").argsort(-1) < 2
    return operand(rows, columns, dtype) * order.reshape(rows, columns).to(dtype)


def algorithms(packed, right, out_dtype):
    found = []
    for number in range(64):
        try:
            torch._cslt_sparse_mm(packed, right, out_dtype=out_dtype, alg_id=number)
            found.append(number)
        except RuntimeError:
            if number > 8 and not found:
                break
    torch.cuda.synchronize()
    return found


class Competitor:
    """Launches in a graph, so that the host is not what is timed; in a stream where they cannot be captured."""

    def __init__(self, call, sets, launches):
        self.launches = launches
        self.run = lambda: [call(sets[i % len(sets)]) for i in range(launches)]
        self.run()
        torch.cuda.synchronize()
        try:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                self.run()
            graph.replay()
            torch.cuda.synchronize()
            self.run = graph.replay
        except RuntimeError:
            torch.cuda.synchronize()

    def us(self):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.cuda._sleep(200000)
        start.record()
        self.run()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) / self.launches * 1e3


def compare(text, library, rounds):
    name, m, n, k = text.split(":")
    m, n, k, dtype = int(m), int(n), int(k), TYPES[name]
    out_dtype = torch.int32 if dtype is torch.int8 else dtype
    # PyTorch refuses an output type that is the operands' own.
    asked = None if out_dtype == dtype else out_dtype
    bytes_of_set = (m * k // 2 + n * k + m * n * 2) * dtype.itemsize
    sets = []
    for _ in range(max(2, min(8, COLD_BYTES // bytes_of_set))):
        dense, right = sparse_operand(m, k, dtype), operand(n, k, dtype)
        weight = tilesmith.sparse.compress(dense, library=library)
        sets.append({"dense": dense, "right": right.t(), "weight": weight, "packed": torch._cslt_compress(dense),
                     "out": torch.empty(m, n, dtype=out_dtype, device="cuda")})
    first = sets[0]
    got = tilesmith.sparse.gemm(first["weight"], first["right"], library=library)
    wide = first["dense"].float() @ first["right"].float()
    error = (got.float() - wide).abs().max().item() / wide.abs().max().item()
    competitors = {
        "dense": lambda s: library.gemm(s["dense"], s["right"], s["out"]),
        "sparse": lambda s: tilesmith.sparse.gemm(s["weight"], s["right"], s["out"], library=library),
        "torch dense": lambda s: torch.mm(s["dense"], s["right"]) if dtype is not torch.int8 else torch._int_mm(s["dense"], s["right"]),
    }
    known = algorithms(first["packed"], first["right"], asked)
    for number in known:
        competitors[f"cuSPARSELt {number}"] = lambda s, number=number: torch._cslt_sparse_mm(s["packed"], s["right"], out_dtype=asked, alg_id=number)
    launches = max(3, min(50, int(4e12 / (2 * m * n * k))))
    timed = {who: Competitor(call, sets, launches) for who, call in competitors.items()}
    times = {who: [] for who in competitors}
    for _ in range(rounds):
        for who, competitor in timed.items():
            times[who].append(competitor.us())
    median = {who: statistics.median(values) for who, values in times.items()}
    vendor = min((median[f"cuSPARSELt {number}"], number) for number in known) if known else (float("nan"), -1)
    print(f"{text:20} dense {median['dense']:8.1f}  sparse {median['sparse']:8.1f}  torch {median['torch dense']:8.1f}  "
          f"cuSPARSELt {vendor[0]:8.1f} (algorithm {vendor[1]} of {len(known)}, default {median.get('cuSPARSELt 0', float('nan')):.1f})  "
          f"sparse/dense {median['dense'] / median['sparse']:.2f}x  sparse/cuSPARSELt {vendor[0] / median['sparse']:.2f}x  off by {error:.1e}", flush=True)


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--db", default=None)
    options.add_argument("--rounds", type=int, default=7)
    options.add_argument("problems", nargs="*", default=USUAL)
    given = options.parse_args()
    torch.manual_seed(1)
    with tilesmith.open(given.db) as library:
        print(library.device, "PyTorch", torch.__version__, "cuSPARSELt", torch.backends.cusparselt.version())
        for text in given.problems:
            compare(text, library, given.rounds)
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
