"""What the programs here share that time single products: microseconds() of a call in a CUDA graph, after the one before it."""

import torch

PRODUCTS, SAMPLES = 20, 9


def microseconds(call):
    """Of one call, a median: call(i) takes the operands of number i, of which there should be more than the L2 holds."""
    stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        call(0)
        call(1)
    torch.cuda.synchronize()
    with torch.cuda.graph(graph, stream=stream):
        for i in range(PRODUCTS):
            call(i)
    samples = []
    for _ in range(SAMPLES):
        start, end = torch.cuda.Event(True), torch.cuda.Event(True)
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        samples.append(start.elapsed_time(end) * 1e3 / PRODUCTS)
    return sorted(samples)[SAMPLES // 2]
