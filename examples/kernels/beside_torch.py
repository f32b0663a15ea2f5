"""Tunes the example kernels, then times them beside PyTorch's own and torch.compile's: python3 examples/kernels/beside_torch.py [SECONDS] [NAME ...]

Run it in the project's folder. TILESMITH_PROGRAM and TILESMITH_LIBRARY name the program and the library, where neither is installed. Each call stands
in a CUDA graph behind a small kernel whose time is taken off, on operands that rotate through more than the L2; outputs are kept, so that
no peer writes to the same memory twice. Prints medians in us, the fastest peer's time over ours, and the relative error against f64.
"""

import math
import os
import subprocess
import sys
import tempfile

import torch
import torch.nn.functional as F

import tilesmith

BF16 = torch.bfloat16
NORM_SIZES = [(2048, 4096), (4096, 4096), (128, 8192), (16, 4096), (8192, 2048), (1024, 5120), (512, 7168), (3000, 1024)]
ROTATED_BYTES = 1.3e8
WARM_UPS, SAMPLES = 3, 10


def random(*shape, dtype=torch.float32):
    return torch.randn(*shape, device="cuda", dtype=dtype)


class Softmax:
    kernel, bytes = "row_softmax", 8
    sizes = [(4096, 1024), (8192, 512), (32768, 128), (2048, 4096), (1024, 8192), (512, 32768), (16384, 1000), (300, 50257)]

    def make(self, rows, cols):
        return {"x": random(rows, cols), "out": torch.empty(rows, cols, device="cuda")}

    def ours(self, kernel, s):
        kernel(s["out"], s["x"])

    def peers(self):
        return {"torch": lambda s: torch.softmax(s["x"], -1), "compile": torch.compile(lambda s: torch.softmax(s["x"], -1), dynamic=False)}

    def results(self, s):
        return s["out"].double(), torch.softmax(s["x"].double(), -1)


class Norm:
    sizes, bytes = NORM_SIZES, 7

    def __init__(self, form, dtype, largest):
        self.kernel, self.dtype, self.largest = f"rms_norm_{form}", dtype, largest

    def make(self, rows, cols):
        return {"x": random(rows, cols, dtype=BF16), "residual": random(rows, cols, dtype=BF16), "weight": random(cols, dtype=BF16),
                "sum": torch.empty(rows, cols, device="cuda", dtype=BF16), "scale": torch.empty(rows, device="cuda"),
                "quantised": torch.empty(rows, cols, device="cuda", dtype=self.dtype)}

    def ours(self, kernel, s):
        kernel(s["quantised"], s["scale"], s["sum"], s["x"], s["residual"], s["weight"])

    def plain(self, s):
        total = (s["x"].float() + s["residual"].float()).to(BF16)
        row = total.float()
        row = row * torch.rsqrt(row.pow(2).mean(-1, keepdim=True) + 1e-5) * s["weight"].float()
        most = row.abs().amax(-1, keepdim=True)
        scaled = row / most * self.largest
        return total, (scaled if self.dtype.is_floating_point else scaled.round()).to(self.dtype), most / self.largest

    def peers(self):
        return {"compile": torch.compile(self.plain, dynamic=False)}

    def results(self, s):
        _, quantised, scale = self.plain(s)
        return s["quantised"].double() * s["scale"].double()[:, None], quantised.double() * scale.double()


class Stencil:
    kernel, bytes = "stencil_3x3", 8
    sizes = [(4096, 4096), (1024, 1024), (2160, 3840), (1080, 1920), (8192, 8192), (512, 512), (1000, 3000), (721, 1440)]

    def make(self, rows, cols):
        return {"x": random(1, 1, rows, cols), "weights": random(1, 1, 3, 3), "out": torch.empty(rows, cols, device="cuda")}

    def ours(self, kernel, s):
        kernel(s["out"], s["x"][0, 0], s["weights"][0, 0])

    def plain(self, s):
        rows, cols = s["x"].shape[2:]
        around, weights = F.pad(s["x"], (1, 1, 1, 1))[0, 0], s["weights"][0, 0]
        return sum(weights[j, i] * around[j:j + rows, i:i + cols] for j in range(3) for i in range(3))

    def peers(self):
        return {"conv2d": lambda s: F.conv2d(s["x"], s["weights"], padding=1), "compile": torch.compile(self.plain, dynamic=False)}

    def results(self, s):
        return s["out"].double(), F.conv2d(s["x"].double(), s["weights"].double(), padding=1)[0, 0]


CASES = {"softmax": Softmax(), "rms_norm_e4m3": Norm("e4m3", torch.float8_e4m3fn, 448), "rms_norm_s8": Norm("s8", torch.int8, 127), "stencil": Stencil()}


def captured(calls):
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for call in calls[:6]:
            call()
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for call in calls:
            call()
    return graph


def microseconds(graph):
    start, end = torch.cuda.Event(True), torch.cuda.Event(True)
    start.record()
    graph.replay()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) * 1e3


def median(values):
    return sorted(values)[len(values) // 2]


def times(competitors, sets):
    """Of one launch of each, in turn."""
    other = torch.zeros(1 << 18, device="cuda")
    count, kept = max(len(sets), 8), []
    graphs = {"other": captured([lambda: other.mul_(0.999)] * count)}
    for name, run in competitors.items():
        pairs = [(lambda: other.mul_(0.999), lambda s=sets[i % len(sets)], run=run: kept.append(run(s))) for i in range(count)]
        graphs[name] = captured([call for pair in pairs for call in pair])
    samples = [{name: microseconds(graph) for name, graph in graphs.items()} for _ in range(WARM_UPS + SAMPLES)][WARM_UPS:]
    medians = {name: median([sample[name] for sample in samples]) for name in graphs}
    return {name: (medians[name] - medians["other"]) / count for name in competitors}


def main():
    seconds, names = sys.argv[1] if len(sys.argv) > 1 else "25", sys.argv[2:] or list(CASES)
    program = os.environ.get("TILESMITH_PROGRAM", "tilesmith")
    with tempfile.TemporaryDirectory() as folder:
        database, workload = os.path.join(folder, "own.db"), os.path.join(folder, "sizes.txt")
        for name in names:
            case, path, ratios = CASES[name], f"examples/kernels/{name}", []
            with open(workload, "w") as file:
                file.writelines(f"kernel {case.kernel} rows={rows} cols={cols}\n" for rows, cols in case.sizes)
            subprocess.run([program, "tune", "--kernel", path, "--workload", workload, "--db", database, "--budget", f"{seconds}s"], check=True)
            kernel, peers = tilesmith.Kernel(path, tilesmith.open(database)), case.peers()
            for rows, cols in case.sizes:
                torch._dynamo.reset()  # so that each size is compiled for itself
                sets = [case.make(rows, cols) for _ in range(max(2, min(24, int(ROTATED_BYTES // (case.bytes * rows * cols)) + 1)))]
                case.ours(kernel, sets[0])
                torch.cuda.synchronize()
                found, expected = case.results(sets[0])
                error = ((found - expected).norm() / expected.norm()).item()
                us = times({**peers, "ours": lambda s: case.ours(kernel, s)}, sets)
                ratios.append(min(us[peer] for peer in peers) / us["ours"])
                shown = ", ".join(f"{peer} {us[peer]:.2f}" for peer in peers)
                print(f"{name:14} {rows:6} {cols:6} {us['ours']:8.2f} us  {shown}  x {ratios[-1]:.3f}  error {error:.1e}", flush=True)
            print(f"{name}: mean {math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f}, lowest {min(ratios):.3f}", flush=True)


if __name__ == "__main__":
    main()
