"""Products with weights in 4 bits beside bf16: python3 examples/python/weights_4_bits.py [DATABASE] [--sizes NxK,..] [--rows M,..] [--humming]

Weights are s4 with a scale for 128 of K. Times are medians in us, measured in turns (graph_times.py) with weights that rotate through more
than the L2: A in bf16 (W4A16); A in e4m3 (W4A8), and the same with the rounding of A; and the product in bf16. With --humming, if its package
is installed, Humming is timed for both kinds of A, with its own rounding. The error is that of W4A8 beside f64. Tune the sizes first:

  tilesmith tune --type bf16f32bf16 --trans NT --shape 64x8192x8192 --with weights=s4_g128 --db DATABASE
  tilesmith tune --type e4m3f32bf16 --trans NT --shape 64x8192x8192 --with epilogue=scale_m,weights=s4_g128 --db DATABASE
"""

import argparse

import torch
from graph_times import interleaved

import tilesmith

GROUP = 128
ROTATED_BYTES = 1.5e8


def humming_layers(n, k, count, input_config):
    from humming.layer import HummingLayer

    layers = []
    for _ in range(count):
        layer = HummingLayer(shape_n=n, shape_k=k, weight_config={"dtype": "int4", "group_size": GROUP}, input_config=input_config,
                             torch_dtype=torch.bfloat16).cuda()
        layer.load_from_unquantized(torch.randn(n, k, device="cuda", dtype=torch.bfloat16))
        layer.transform()
        layers.append(layer)
    return layers


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("database", nargs="?")
    parser.add_argument("--sizes", default="8192x8192,14336x4096,4096x14336")
    parser.add_argument("--rows", default="1,8,16,32,64,128,256,512,1024,4096")
    parser.add_argument("--humming", action="store_true")
    asked = parser.parse_args()
    library = tilesmith.open(asked.database) if asked.database else tilesmith.open()
    tilesmith.set_default(library)  # for quantise()
    for size in asked.sizes.split(","):
        n, k = map(int, size.split("x"))
        count = max(2, int(ROTATED_BYTES // (n * k // 2))) + 1
        codes = [torch.randint(-8, 8, (n, k), device="cuda", dtype=torch.int8) for _ in range(count)]
        scales = (torch.rand(k // GROUP, n, device="cuda") * 0.01 + 0.001).bfloat16()
        wide = [tilesmith.weights.pack(one, scales, type="s4") for one in codes]
        bytes_ = [tilesmith.weights.pack(one, scales, type="s4", dtype="e4m3", scales_dtype="bf16") for one in codes]
        dense = [torch.randn(n, k, device="cuda", dtype=torch.bfloat16) for _ in range(2)]
        theirs = [humming_layers(n, k, count, config) for config in (None, {"dtype": "float8e4m3"})] if asked.humming else []
        exact = codes[0].double() * scales.t().double().repeat_interleave(GROUP, 1)
        for m in map(int, asked.rows.split(",")):
            x = torch.randn(m, k, device="cuda", dtype=torch.bfloat16)
            rounded, rows = tilesmith.quantise(x, "e4m3")
            got = library.gemm(rounded, bytes_[0], scale_m=rows)
            want = (rounded.double() * rows.double()[:, None]) @ exact.t()
            error = ((got.double() - want).norm() / want.norm()).item()

            def with_rounding(i):
                q, of_rows = tilesmith.quantise(x, "e4m3")
                library.gemm(q, bytes_[i % count], scale_m=of_rows)

            calls = {"W4A16": lambda i: library.gemm(x, wide[i % count]), "W4A8": lambda i: library.gemm(rounded, bytes_[i % count], scale_m=rows),
                     "W4A8 with rounding": with_rounding, "bf16": lambda i: torch.mm(x, dense[i % 2].t())}
            for name, layers in zip(("Humming W4A16", "Humming W4A8"), theirs):
                calls[name] = lambda i, layers=layers: layers[i % count](x)
            shown = ", ".join(f"{name} {us:.2f}" for name, us in interleaved(calls).items())
            print(f"{m}x{n}x{k}: {shown}; error {error:.1e}", flush=True)


if __name__ == "__main__":
    main()
