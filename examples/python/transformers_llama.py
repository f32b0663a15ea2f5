#!/usr/bin/env python3
"""A Llama-shaped model of Hugging Face's transformers, with random weights, which knows nothing of Tilesmith. Times a pass of five batches in CUDA
graphs, and of one token eagerly, and compares with a former run: times, and how far the outputs are apart.

  transformers_llama.py plain.pt bf16
  tilesmith capture -o app.workload -- python3 transformers_llama.py captured.pt bf16 --untimed
  tilesmith tune --workload app.workload --budget 2m --db app.db
  tilesmith run --db app.db -- python3 transformers_llama.py served.pt bf16 --beside plain.pt
  tilesmith run --check --db app.db -- python3 transformers_llama.py checked.pt bf16 --untimed
"""
import argparse
import math
import time

import torch
from transformers import LlamaConfig, LlamaForCausalLM

CASES = ((1, 1), (8, 1), (1, 17), (1, 128), (4, 512))
EAGERLY = ("1x1", "8x1")


def median_us(call, runs=30):
    for _ in range(5):
        call()
    times = []
    for _ in range(runs):
        begin, end = torch.cuda.Event(True), torch.cuda.Event(True)
        begin.record()
        call()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1e3)
    return sorted(times)[runs // 2]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("outputs", help="the file to keep times and outputs in")
    parser.add_argument("dtype", choices=("bf16", "f16"))
    parser.add_argument("--beside", metavar="FILE", help="a former run's file, to compare with")
    parser.add_argument("--untimed", action="store_true", help="two passes of each batch, and nothing else")
    options = parser.parse_args()
    torch.manual_seed(0)
    torch.set_default_dtype({"bf16": torch.bfloat16, "f16": torch.float16}[options.dtype])
    config = LlamaConfig(hidden_size=4096, intermediate_size=14336, num_hidden_layers=4, num_attention_heads=32, num_key_value_heads=8, vocab_size=32000,
                         max_position_embeddings=4096)
    with torch.device("cuda"):
        model = LlamaForCausalLM(config).eval()
    inputs = {f"{batch}x{tokens}": torch.randint(0, 32000, (batch, tokens), device="cuda") for batch, tokens in CASES}

    @torch.no_grad()
    def forward(x):
        return model(x, use_cache=False).logits

    for x in inputs.values():
        forward(x)
    torch.cuda.synchronize()
    time.sleep(3)  # where the shim plans, it does so now
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for x in inputs.values():
            forward(x)
    torch.cuda.synchronize()
    if options.untimed:
        return
    time.sleep(2)
    times, outputs = {}, {}
    for case, x in inputs.items():
        eager = min(median_us(lambda: forward(x), 40) for _ in range(3)) if case in EAGERLY else math.nan
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            logits = forward(x)
        graph.replay()
        torch.cuda.synchronize()
        outputs[case] = logits.float().cpu()
        times[case] = (sorted(median_us(graph.replay) for _ in range(5))[2], eager)
        print(f"{case:6s} graph {times[case][0]:8.1f} us, eager {eager:8.1f} us", flush=True)
        del graph, logits
    torch.save((times, outputs), options.outputs)
    if not options.beside:
        return
    former_times, former_outputs = torch.load(options.beside)
    for case, (graph_us, eager_us) in times.items():
        before_us, before_eager_us = former_times[case]
        apart = ((outputs[case] - former_outputs[case]).norm() / former_outputs[case].norm()).item()
        print(f"{case:6s} graph {before_us:8.1f} -> {graph_us:8.1f} us, {before_us / graph_us:.3f}x; eager {before_eager_us:.0f} -> {eager_us:.0f} us; "
              f"outputs {apart:.1e} apart")
    print(f"geometric mean {math.exp(sum(math.log(former_times[case][0] / times[case][0]) for case in times) / len(times)):.3f}x")


if __name__ == "__main__":
    main()
