#!/usr/bin/env python3
"""One small transformer, which knows nothing of Tilesmith: times a pass in eager mode and in a CUDA graph, and keeps the outputs to compare.

  torch_under_shim.py plain.pt
  tilesmith capture -o app.workload -- python3 torch_under_shim.py captured.pt plain.pt
  tilesmith tune --workload app.workload --budget 2m --db app.db
  tilesmith run --db app.db -- python3 torch_under_shim.py served.pt plain.pt

Usage: torch_under_shim.py OUTPUTS [FORMER_OUTPUTS]
"""
import sys
import time

import torch

if len(sys.argv) not in (2, 3):
    sys.exit("usage: torch_under_shim.py OUTPUTS [FORMER_OUTPUTS]")
torch.manual_seed(1)
device = "cuda"

class Block(torch.nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.qkv, self.out = torch.nn.Linear(d, 3 * d), torch.nn.Linear(d, d, bias=False)
        self.up, self.down, self.h = torch.nn.Linear(d, 4 * d), torch.nn.Linear(4 * d, d), h
    def forward(self, x):
        b, s, d = x.shape
        q, k, v = self.qkv(x).view(b, s, 3, self.h, d // self.h).permute(2, 0, 3, 1, 4).reshape(3, b * self.h, s, d // self.h)
        a = torch.bmm(torch.softmax(torch.bmm(q, k.transpose(1, 2)) * 0.125, -1), v)
        x = x + self.out(a.view(b, self.h, s, -1).transpose(1, 2).reshape(b, s, d))
        return x + self.down(torch.nn.functional.gelu(self.up(x), approximate="tanh"))

kept = {}
for name, dtype in (("f16", torch.float16), ("bf16", torch.bfloat16), ("f32", torch.float32)):
    for b, s in ((1, 16), (8, 128)):
        model = torch.nn.Sequential(*[Block(768, 12) for _ in range(4)]).to(device, dtype).eval()
        x = torch.randn(b, s, 768, device=device).to(dtype)
        with torch.no_grad():
            for _ in range(5): model(x)
            torch.cuda.synchronize(); time.sleep(1.0)
            def timed(call, n=50):
                best = 1e9
                for _ in range(5):
                    torch.cuda.synchronize(); t = time.perf_counter()
                    for _ in range(n): call()
                    torch.cuda.synchronize(); best = min(best, (time.perf_counter() - t) / n)
                return best * 1e6
            eager = timed(lambda: model(x))
            side = torch.cuda.Stream(); side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for _ in range(3): model(x)
            torch.cuda.synchronize(); time.sleep(0.5)
            with torch.cuda.stream(side): model(x)
            torch.cuda.synchronize()
            g = torch.cuda.CUDAGraph()
            with torch.cuda.graph(g): y = model(x)
            g.replay()
            graph = timed(g.replay)
            kept[f"{name} {b}x{s}"] = y.float().cpu()
            print(f"{name:5} {b}x{s}: eager {eager:9.1f} us, graph {graph:9.1f} us", flush=True)
torch.save(kept, sys.argv[1])
if len(sys.argv) > 2:
    for name, was in torch.load(sys.argv[2]).items():
        d = (kept[name] - was).abs().max() / was.abs().max()
        print(f"{name}: largest difference {d:.2e} of the largest value{'' if d < 2e-2 else ': WRONG'}")
