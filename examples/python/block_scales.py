"""Products of 8-bit floats with scales of blocks beside PyTorch's: python3 examples/python/block_scales.py [DATABASE] [--sizes MxNxK,..]

Scales are 1x128 of A and 128x128 of B. Times are medians in us, measured in turns (graph_times.py) on operands that rotate through more than
the L2: ours, torch's scaled_mm (cuBLASLt), and the same product in bf16, ours and torch's. The error is that of ours beside f64. Tune the
sizes first, as in

  tilesmith tune --type e4m3f32bf16 --trans NT --shape 1024x2112x7168 --with epilogue=scale_m_1x128+scale_n_128x128 --db DATABASE
"""

import argparse

import torch
from graph_times import interleaved
from torch.nn.functional import ScalingType, scaled_mm

import tilesmith

SIZES = ("1x4096x7168,16x7168x16384,64x2112x7168,128x24576x1536,1024x2112x7168,1024x7168x2048,4096x2112x7168,"
         "4096x4096x7168")
ROTATED_BYTES = 1.5e8


def random(rows, columns):
    return torch.randn(rows, columns, device="cuda").to(torch.float8_e4m3fn)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("database", nargs="?")
    parser.add_argument("--sizes", default=SIZES)
    asked = parser.parse_args()
    library = tilesmith.open(asked.database) if asked.database else tilesmith.open()
    for size in asked.sizes.split(","):
        m, n, k = map(int, size.split("x"))
        count = max(2, int(ROTATED_BYTES // (n * k + m * k))) + 1
        a, b = [random(m, k) for _ in range(count)], [random(n, k) for _ in range(count)]
        scale_a = torch.rand(-(-k // 128), m, device="cuda") + 0.5
        scale_b = torch.rand(-(-n // 128), -(-k // 128), device="cuda") + 0.5
        out = torch.empty(m, n, device="cuda", dtype=torch.bfloat16)

        def ours(i):
            library.gemm(a[i % count], b[i % count].t(), out, scale_m=scale_a, scale_n=scale_b)

        def theirs(i):
            scaled_mm(a[i % count], b[i % count].t(), scale_a.t(), ScalingType.BlockWise1x128, scale_b.t(), ScalingType.BlockWise128x128,
                      output_dtype=torch.bfloat16)

        ours(0)
        rows = a[0].double() * scale_a.t().double().repeat_interleave(128, 1)[:, :k]
        columns = b[0].double() * scale_b.double().repeat_interleave(128, 0)[:n].repeat_interleave(128, 1)[:, :k]
        want = rows @ columns.t()
        error = ((out.double() - want).norm() / want.norm()).item()
        half_a, half_b = [x.bfloat16() for x in a], [x.bfloat16() for x in b]
        times = interleaved({
            "ours": ours, "scaled_mm": theirs,
            "ours in bf16": lambda i: library.gemm(half_a[i % count], half_b[i % count].t(), out),
            "mm in bf16": lambda i: torch.mm(half_a[i % count], half_b[i % count].t(), out=out),
        })
        shown = ", ".join(f"{name} {us:.2f}" for name, us in times.items())
        print(f"{m}x{n}x{k}: {shown}; error {error:.1e}, {2 * m * n * k / times['ours'] / 1e6:.0f} TFLOP/s", flush=True)


if __name__ == "__main__":
    main()
