"""What the examples of PyTorch models share: a model is timed as it is and with Tilesmith, in turn, and its results are compared.

A model's script has cases and calls main(). Tilesmith serves in one of two ways:
  in this process     around each call stands tilesmith.torch.enabled()
  --shim DB           two processes, the second started by `tilesmith run --db DB`; neither knows of Tilesmith

Every time is a median of calls whose operands are cold: before each call a buffer larger than the L2 cache is written. Graphs are timed by CUDA
events, eager calls by the host's clock, so that the cost of a call counts too. Both sides take turns, three times, and the turn with the
middle ratio is kept. Results are right if they are as near to those of the same model in a wider type as PyTorch's own are.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any, Callable, ContextManager, Dict, List, NamedTuple, NoReturn, Optional, Sequence, Tuple

import torch

from bars import Bar, svg, write_csv

Tensors = Tuple[torch.Tensor, ...]
COLD_BYTES = 256 << 20
TURNS = 3


class Case(NamedTuple):
    """A pass of a model. exact: the same by the model in a wider type. after: by the model that stands in its place, if there is one."""

    name: str
    call: Callable[[], Tensors]
    exact: Callable[[], Tensors]
    after: Optional[Callable[[], Tensors]] = None


class Row(NamedTuple):
    case: str
    before_us: float
    after_us: float
    before_error: float
    after_error: float

    @property
    def is_right(self) -> bool:
        return self.after_error <= 1.5 * self.before_error + 1e-5  # NaN is not


def fail(message: str) -> NoReturn:
    sys.exit(f"{os.path.basename(sys.argv[0])}: {message}")


class Worker:
    """One side: the model's cases in this process. around: entered for every call."""

    def __init__(self, cases: Sequence[Case], device: str, around: Callable[[], ContextManager[Any]] = contextlib.nullcontext) -> None:
        self.cases = {case.name: case for case in cases}
        self.on_gpu, self.around = device == "cuda", around
        self.graphs: Dict[str, Tuple[Callable[[], None], Tensors]] = {}
        self.cold = torch.empty(COLD_BYTES if self.on_gpu else 1, dtype=torch.uint8, device=device)

    def names(self) -> List[str]:
        return list(self.cases)

    def wait(self) -> None:
        if self.on_gpu:
            torch.cuda.synchronize()

    @torch.no_grad()
    def visit(self) -> None:
        """Runs every case, and then again: the shim makes its plans meanwhile, on a thread of its own."""
        for pause_s in (1.0, 0.0):
            for case in self.cases.values():
                with self.around():
                    case.call()
                self.wait()
            time.sleep(pause_s if self.on_gpu else 0)

    def captured(self, name: str) -> Tuple[Callable[[], None], Tensors]:
        """A graph of the case, after runs on another stream that prepare what it needs. Its replay, and its results."""
        if name not in self.graphs:
            case, stream = self.cases[name], torch.cuda.Stream()
            with self.around():
                stream.wait_stream(torch.cuda.current_stream())
                with torch.cuda.stream(stream):
                    for _ in range(2):
                        case.call()
                torch.cuda.current_stream().wait_stream(stream)
                torch.cuda.synchronize()
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph):
                    results = case.call()
            self.graphs[name] = graph.replay, results
        return self.graphs[name]

    @torch.no_grad()
    def micros(self, name: str, launch: str, calls: int) -> float:
        if launch == "graph":
            return self._graph_micros(self.captured(name)[0], calls)
        times = []
        with self.around():
            for _ in range(calls + 2):
                self.cold.zero_()
                self.wait()
                start = time.perf_counter()
                self.cases[name].call()
                self.wait()
                times.append((time.perf_counter() - start) * 1e6)
        return statistics.median(times[2:])

    def _graph_micros(self, replay: Callable[[], None], calls: int) -> float:
        times = []
        for _ in range(calls + 2):
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            self.cold.zero_()  # the host is done with the launch before the device comes to it
            start.record()
            replay()
            end.record()
            end.synchronize()
            times.append(start.elapsed_time(end) * 1e3)
        return statistics.median(times[2:])

    @torch.no_grad()
    def results(self, name: str, launch: str) -> Tensors:
        if launch == "graph":
            replay, results = self.captured(name)
            replay()
            self.wait()
            return results
        with self.around():
            results = self.cases[name].call()
        self.wait()
        return results

    @torch.no_grad()
    def write_exact(self, name: str, file: str) -> None:
        torch.save(self.cases[name].exact(), file)

    def error(self, name: str, launch: str, exact_file: str) -> float:
        return error_of(self.results(name, launch), torch.load(exact_file, weights_only=True))


def error_of(results: Tensors, exact: Tensors) -> float:
    """The largest relative distance of the results from the exact ones, in the 2-norm; infinite if one is no number."""
    errors = [float((got.float() - want).norm() / want.norm()) for got, want in zip(results, exact)]
    return max(error if math.isfinite(error) else math.inf for error in errors)


class Remote:
    """A Worker in a process of its own, which a command starts."""

    ASKED = ("names", "visit", "micros", "write_exact", "error")

    def __init__(self, command: Sequence[str]) -> None:
        self.name = f"`{' '.join(command[:5])} ...`"
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdin is not None and self.process.stdout is not None
        self.questions, self.answers = self.process.stdin, self.process.stdout

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in Remote.ASKED:
            raise AttributeError(name)
        return lambda *arguments: self._ask(name, arguments)

    def _ask(self, name: str, arguments: Tuple[Any, ...]) -> Any:
        try:
            print(json.dumps([name, *arguments]), file=self.questions, flush=True)
            line = self.answers.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            fail(f"{self.name} ended with status {self.process.wait()} (its message stands above)")
        return json.loads(line)

    def close(self) -> None:
        self.questions.close()
        if self.process.wait() != 0:
            fail(f"{self.name} ended with status {self.process.returncode}")


def answer(worker: Worker) -> None:
    """The other end of a Remote."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what else is printed is no answer
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        print(json.dumps(getattr(worker, name)(*arguments)), file=out, flush=True)


def compare(before: Any, after: Any, launches: Sequence[str], calls: int) -> List[Row]:
    rows = []
    before.visit()
    after.visit()
    with tempfile.TemporaryDirectory() as folder:
        for name in before.names():
            exact = os.path.join(folder, "exact.pt")
            before.write_exact(name, exact)
            for launch in launches:
                errors = [side.error(name, launch, exact) for side in (before, after)]
                pairs = []
                for turn in range(TURNS):
                    times = {side: side.micros(name, launch, calls) for side in ((before, after) if turn % 2 == 0 else (after, before))}
                    pairs.append((times[before], times[after]))
                middle = sorted(pairs, key=lambda pair: pair[0] / pair[1])[TURNS // 2]
                rows.append(Row(f"{name}, {launch}", *middle, *errors))
    return rows


def table(rows: Sequence[Row]) -> str:
    width = max(len(row.case) for row in rows)
    lines = [f"{'':{width}}  {'before':>12}  {'Tilesmith':>12}  {'':>6}  {'error':>8}  {'Tilesmith':>9}"]
    for row in rows:
        lines.append(f"{row.case:{width}}  {row.before_us:>9,.1f} us  {row.after_us:>9,.1f} us  {row.before_us / row.after_us:>5.2f}x"
                     f"  {row.before_error:>8.1e}  {row.after_error:>9.1e}{'' if row.is_right else '  WRONG'}")
    mean = math.exp(statistics.fmean(math.log(row.before_us / row.after_us) for row in rows))
    return "\n".join([*lines, f"{'geometric mean':{width}}  {'':>12}  {'':>12}  {mean:>5.2f}x"])


def tilesmith_command() -> List[str]:
    """The program, as an application would start it."""
    try:
        import tilesmith

        return [tilesmith.program()]
    except ImportError:
        return ["tilesmith"]


def under_shim(options: argparse.Namespace, launches: Sequence[str]) -> List[Row]:
    own = [sys.executable, *sys.argv, "--answer"]
    program = tilesmith_command()
    if options.tune:
        with tempfile.TemporaryDirectory() as folder:
            workload = os.path.join(folder, "model.workload")
            captured = Remote([*program, "capture", "-o", workload, "--", *own])
            captured.visit()
            captured.close()
            if subprocess.call([*program, "tune", "--workload", workload, "--db", options.shim, "--budget", options.tune]) != 0:
                fail("`tilesmith tune` failed (its message stands above)")
    before, after = Remote(own), Remote([*program, "run", "--db", options.shim, "--", *own])
    rows = compare(before, after, launches, options.calls)
    before.close()
    after.close()
    return rows


def in_process(options: argparse.Namespace, cases: Sequence[Case], device: str, launches: Sequence[str]) -> List[Row]:
    import tilesmith
    import tilesmith.torch

    def enabled() -> ContextManager[Any]:
        return tilesmith.torch.enabled(_key="CUDA" if device == "cuda" else "CPU")

    before, cases = cases, [case._replace(call=case.after or case.call) for case in cases]
    with torch.no_grad(), enabled():
        for case in cases:
            case.call()
    if options.tune:
        print(f"tuning {len(tilesmith.torch.problems())} problems for {options.tune}", file=sys.stderr)
        tilesmith.tune(tilesmith.torch.problems(), options.tune)
    after = Worker(cases, device, enabled)
    rows = compare(Worker(before, device), after, launches, options.calls)
    with torch.no_grad(), enabled() as serving:
        for case in cases:
            case.call()
    print(f"a pass of each case: {serving.stats()}")
    return rows


def plain(worker: Worker, launches: Sequence[str], calls: int) -> None:
    worker.visit()
    for name in worker.names():
        for launch in launches:
            print(f"{name + ', ' + launch:32}  {worker.micros(name, launch, calls):>9,.1f} us", flush=True)


def report(rows: Sequence[Row], title: str, options: argparse.Namespace) -> None:
    """The table, the picture, and exit status 1 if a result is wrong."""
    print(table(rows))
    bars = [Bar(row.case, row.before_us, row.after_us) for row in rows]
    if options.csv:
        write_csv(options.csv, bars)
    if options.svg:
        with open(options.svg, "w", encoding="utf-8") as file:
            file.write(svg(bars, title, f"Medians of {options.calls} calls on cold operands, both sides in turn. PyTorch {torch.__version__}"))
    wrong = [row.case for row in rows if not row.is_right]
    if wrong:
        fail(f"{', '.join(wrong)}: further from the wider model than PyTorch's own results; expected an error of at most 1.5 times theirs")


def main(parser: argparse.ArgumentParser, title: str, make_cases: Callable[[argparse.Namespace, str], List[Case]]) -> None:
    """make_cases: of the options and the device, with seeded weights. title: of the picture; {device} stands in it."""
    parser.add_argument("--shim", metavar="DB", help="serve a second process by the shim, with this database, rather than this one")
    parser.add_argument("--tune", metavar="TIME", help='first tune the model\'s own shapes for so long ("2m", "8h")')
    parser.add_argument("--plain", action="store_true", help="time this process as it is, whatever started it")
    parser.add_argument("--launch", choices=["graph", "eager", "both"], default="both", help="replay CUDA graphs, call eagerly, or both (default)")
    parser.add_argument("--calls", type=int, default=20, help="calls that a median is of (default: %(default)s)")
    parser.add_argument("--svg", metavar="FILE", help="draw the table, as one picture")
    parser.add_argument("--csv", metavar="FILE", help="write the times; bars.py draws them")
    parser.add_argument("--dry-run", action="store_true", help="a tiny model on the CPU, which shows that everything works")
    parser.add_argument("--answer", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.calls < 1:
        fail(f"--calls {options.calls}: expected 1 or more")
    if not options.dry_run and not torch.cuda.is_available():
        fail("PyTorch sees no GPU; expected a CUDA device and a PyTorch that is built for it, or --dry-run")
    device = "cpu" if options.dry_run else "cuda"
    launches = ["eager"] if options.dry_run else ["graph", "eager"] if options.launch == "both" else [options.launch]
    torch.manual_seed(0)
    if options.answer:
        return answer(Worker(make_cases(options, device), device))
    if options.plain:
        return plain(Worker(make_cases(options, device), device), launches, options.calls)
    rows = under_shim(options, launches) if options.shim else in_process(options, make_cases(options, device), device, launches)
    report(rows, title.format(device="CPU" if options.dry_run else torch.cuda.get_device_name()), options)
