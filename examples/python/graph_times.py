"""What the programs here share that time single products: interleaved() times several ways to compute one."""

import torch

PRODUCTS, SAMPLES, FIRST_SAMPLES = 8, 13, 2  # of a graph; the first samples do not count


def interleaved(calls):
    """The time of each call in us, a median, by its name: calls[name](i) takes the operands of number i, of which there should be more than the L2
    holds. Each is in a CUDA graph behind a small kernel, whose time is subtracted. The graphs are timed in turns. NaN if PyTorch refuses the call."""
    before = torch.zeros(1 << 18, device="cuda")
    graphs = {None: captured(None, before)}
    for name, call in calls.items():
        try:
            graphs[name] = captured(call, before)
        except RuntimeError:
            torch.cuda.synchronize()
    samples = {name: [] for name in graphs}
    for _ in range(SAMPLES):
        for name, graph in graphs.items():
            start, end = torch.cuda.Event(True), torch.cuda.Event(True)
            start.record()
            graph.replay()
            end.record()
            end.synchronize()
            samples[name].append(start.elapsed_time(end) * 1e3)
    median = {name: sorted(of[FIRST_SAMPLES:])[(SAMPLES - FIRST_SAMPLES) // 2] for name, of in samples.items()}
    return {name: (median[name] - median[None]) / PRODUCTS if name in median else float("nan") for name in calls}


def captured(call, before):
    stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for i in range(3 if call else 0):
            call(i)
    torch.cuda.synchronize()
    with torch.cuda.graph(graph, stream=stream):
        for i in range(PRODUCTS):
            before.mul_(0.999)
            if call:
                call(i)
    return graph
