"""How long the first products of a model take in a new process: 25 products of 5 layers and 5 numbers of rows, with bf16 weights.

usage: torch_start.py [--hidden 4096] [--prepare]
Run it twice: the second process loads the kernels that the first compiled ($TILESMITH_CACHE). --prepare compiles them side by side before."""
import argparse
import time

import tilesmith
import torch

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--hidden", type=int, choices=(3072, 4096), default=4096)
parser.add_argument("--prepare", action="store_true")
options = parser.parse_args()
LAYERS = {  # columns of the output, of the input
    4096: ((6144, 4096), (4096, 4096), (28672, 4096), (4096, 14336), (128256, 4096)),
    3072: ((5120, 3072), (3072, 3072), (16384, 3072), (3072, 8192), (32000, 3072)),
}
operands = [
    (torch.randn(rows, k, device="cuda", dtype=torch.bfloat16), torch.randn(n, k, device="cuda", dtype=torch.bfloat16).t())
    for n, k in LAYERS[options.hidden] for rows in (1, 8, 17, 128, 2048)]
torch.cuda.synchronize()
began = time.perf_counter()
with tilesmith.Library.open_default() as library:
    if options.prepare:
        library.prepare_all([library.problem(a, b) for a, b in operands])
    prepared = time.perf_counter()
    for a, b in operands:
        library.gemm(a, b)
    torch.cuda.synchronize()
    ended = time.perf_counter()
    problem = library.problem(*operands[0])
    library.plan(problem).close()
    again = time.perf_counter()
    library.plan(problem).close()
    print(f"open and prepare {prepared - began:.3f} s, 25 products {ended - prepared:.3f} s, a plan again {(time.perf_counter() - again) * 1e3:.3f} ms")
