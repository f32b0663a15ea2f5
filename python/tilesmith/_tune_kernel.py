"""tune_kernel: Kernel Tuner's call, served by `tilesmith tune --kernel`."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import tempfile
from typing import Any, Callable, Dict, List, Optional, Tuple, Union

from ._errors import Error
from ._library import Path
from ._program import program, run
from ._tune_folder import Parameters, write_folder
from ._types import _TYPESTRS

STRATEGIES = {None: "exhaustive", "brute_force": "exhaustive", "random_sample": "random"}
UNKNOWN_TIMES = ("compile_time", "verification_time", "benchmark_time", "strategy_time", "framework_time")  # Kernel Tuner's own files want them
OWN_STRATEGIES = ("forest", "local", "annealing", "dual_annealing", "genetic", "random", "exhaustive")

Size = Union[int, str, Callable[..., Any]]
Results = List[Dict[str, Any]]


class ErrorConfig(str):
    """In place of a config's time; its text is the name of its class."""

    def __new__(cls) -> "ErrorConfig":
        return super().__new__(cls, cls.__name__)


class InvalidConfig(ErrorConfig):
    """The device cannot launch the config."""


class CompilationFailedConfig(ErrorConfig):
    """The config does not compile."""


class RuntimeFailedConfig(ErrorConfig):
    """The config fails when it runs, or its results are wrong."""


def tune_kernel(kernel_name: str, kernel_source: Any, problem_size: Union[Size, Tuple[Size, ...]], arguments: List[Any],
                tune_params: Dict[str, List[Any]], grid_div_x: Any = None, grid_div_y: Any = None, grid_div_z: Any = None, restrictions: Any = None,
                answer: Optional[List[Any]] = None, atol: float = 1e-6, verify: Any = None, verbose: bool = False, lang: Optional[str] = None,
                device: int = 0, platform: int = 0, smem_args: Optional[Dict[str, Size]] = None, cmem_args: Optional[Dict[str, Any]] = None,
                texmem_args: Any = None, compiler: Any = None, compiler_options: Optional[List[str]] = None,
                defines: Optional[Dict[str, Any]] = None, log: Any = None, iterations: int = 7, block_size_names: Optional[List[str]] = None,
                quiet: bool = False, strategy: Optional[str] = None, strategy_options: Optional[Dict[str, Any]] = None,
                cache: Optional[Path] = None, metrics: Optional[Dict[str, Any]] = None, simulation_mode: Any = None, parallel: Any = None,
                observers: Any = None, objective: Optional[str] = None, objective_higher_is_better: Optional[bool] = None, objectives: Any = None,
                seed: Optional[int] = None) -> Tuple[Results, Dict[str, Any]]:
    """Tunes a CUDA kernel by Kernel Tuner's call (docs/own_kernels.md says what differs). Returns a list of dicts, one for each config that was
    tried, in the order in which they were first measured, and a dict of the device and the versions, with "best_config".

    A dict has the parameters, "time" in milliseconds, "timestamp" and the metrics. The time of a config that failed is an ErrorConfig, as is its
    "__error__", and "message" says what is wrong.
    answer: arrays that the arguments must hold after a run, None for the others. Without it nothing is compared.
    verify: called as verify(answer, results, atol=atol) for each config once all have been timed; False says that the config is wrong.
    cache: records stay in the database `cache`.db, so that the next call goes on from there. By default they are deleted at the end.
    strategy: None or "brute_force" tries every config; names that `tilesmith strategies` lists are passed on; others are our default.
    strategy_options: "max_fevals" and "time_limit" in seconds.
    compiler, iterations, log, parallel and platform are ignored: kernels are compiled by NVRTC and timed until the time is certain.
    """
    _refuse(lang=lang if str(lang or "cuda").lower() not in ("cuda", "cupy", "nvcuda") else None, texmem_args=texmem_args,
            simulation_mode=simulation_mode, observers=observers, objectives=objectives,
            compiler_options=[one for one in compiler_options or [] if not one.startswith(("-O", "-std", "--std", "-arch", "--gpu-arch"))],
            strategy=strategy if not isinstance(strategy, (str, type(None))) else None)
    parameters = Parameters(tune_params)
    with tempfile.TemporaryDirectory(prefix="tilesmith-") as name:
        folder = pathlib.Path(name)
        write_folder(folder, kernel_name, kernel_source, problem_size, arguments, parameters, (grid_div_x, grid_div_y, grid_div_z), restrictions,
                     None if verify else answer, atol, smem_args, cmem_args, defines, block_size_names, cache is not None)
        options = strategy_options or {}
        own = STRATEGIES.get(strategy, strategy if strategy in OWN_STRATEGIES else OWN_STRATEGIES[0])
        words = ["--strategy", str(own), "--device", str(device), "--peer", "none"]
        words += ["--unproven"] * (verify is not None or all(one is None for one in answer or [])) + ["-v"] * verbose + ["--seed", str(seed)] * (seed is not None)
        words += ["--max-candidates", str(options["max_fevals"])] if options.get("max_fevals") else []
        words += ["--budget", f"{max(round(options['time_limit']), 1)}s"] if options.get("time_limit") else []
        database = f"{os.fspath(cache)}.db" if cache else str(folder / "tuned.db")
        records = _tune(folder, database, words, quiet)
        if verify:
            _ask(verify, answer, atol, folder, records, ["--db", database, "--device", str(device)])
    results = [_result(parameters.values_of(record["config"]), record, metrics or {}) for record in records]
    best = _best(results, objective or "time", objective_higher_is_better)
    if not quiet:
        keys = [key for key in (*tune_params, "time", *(metrics or {})) if key in best]
        shown = ", ".join(f"{key}={best[key]:.4g}" if isinstance(best[key], float) else f"{key}={best[key]}" for key in keys)
        print(f"best of {len(results)} configs: {shown} (time in ms)" if best else f"none of {len(results)} configs is right")
    from . import __version__

    env = {key: records[0][key] for key in ("device", "driver_version", "nvrtc_version", "compiler_options")}
    return results, {"device_name": env["device"].partition("/")[0], **env, "tilesmith_version": __version__, "best_config": best}


_DTYPES = {**{name: code for code, name in _TYPESTRS.items()}, "bf16": "u2"}  # NumPy's; of what it does not know, bits

_EXPECTED = {"lang": "None, \"CUDA\", \"CuPy\" or \"NVCUDA\"", "texmem_args": "arrays in arguments or cmem_args",
             "compiler_options": "#define in the source or defines=",
             "simulation_mode": "none: configs are measured", "observers": "none", "objectives": "one objective=", "strategy": "a name"}


def _refuse(**given: Any) -> None:
    for name, value in given.items():
        if value:
            raise ValueError(f"{name} is {value!r}; expected {_EXPECTED[name]}")


def _tune(folder: pathlib.Path, database: str, words: List[str], quiet: bool) -> Results:
    """The newest record of each config on this device, in the order of their first ones."""
    kernel = ["--kernel", str(folder), "--db", database]
    failed = None
    try:
        run([program(), "tune", *kernel, *words], quiet)
    except Error as why:  # as if no config is right
        failed = why
    listed = subprocess.run([program(), "query", *kernel, "--all", "--format", "json"], capture_output=True, text=True)
    records = json.loads(listed.stdout) if listed.returncode == 0 and listed.stdout.strip() else []
    if not records:
        raise failed or Error(f"tilesmith query found no record: {listed.stderr.strip() or 'it said nothing'}")
    newest: Results = [record for record in reversed(records) if record["device"] == records[0]["device"]]
    return list({record["config"]: record for record in newest}.values())


def _ask(verify: Any, answer: Optional[List[Any]], atol: float, folder: pathlib.Path, records: Results, words: List[str]) -> None:
    """Marks the records whose results `verify` refuses. What has no results here was wrong when it ran again."""
    import numpy

    arguments = [argument for argument in json.loads((folder / "kernel.json").read_text())["arguments"] if argument.get("role") != "constant"]
    out = folder / "results"
    out.mkdir()
    subprocess.run([program(), "verify", "--kernel", str(folder), "--tuned", "--results", str(out), *words], capture_output=True, text=True)
    listed = out / "configs.txt"
    numbers = {line.split(" ", 1)[1]: line.split(" ", 1)[0] for line in (listed.read_text().splitlines() if listed.exists() else [])}
    for record in (record for record in records if record["status"] == "ok"):
        results: List[Any] = []
        for i, argument in enumerate(arguments):
            name, declared = next(one for one in argument.items() if one[0] not in ("role", "fill", "value"))
            file = out / f"{numbers.get(record['config'])}.{name}.bin"
            wanted = file.exists() and (answer is None or answer[i] is not None)
            results.append(numpy.fromfile(file, _DTYPES.get(declared.partition("[")[0], "u1")) if wanted else None)
            if wanted and answer is not None and numpy.size(answer[i]) == results[-1].size:
                results[-1] = results[-1].reshape(numpy.shape(answer[i]))
        if record["config"] not in numbers or not verify(answer, results, atol=atol):
            record.update(status="mismatch", message="verify() refused its results" if record["config"] in numbers else "wrong when it ran again")


def _result(values: Dict[str, Any], record: Dict[str, Any], metrics: Dict[str, Any]) -> Dict[str, Any]:
    result = {**values, "timestamp": record["created_at"], **dict.fromkeys(UNKNOWN_TIMES, 0.0)}
    if record["status"] != "ok":
        kind = {"illegal": InvalidConfig, "compile_failed": CompilationFailedConfig}.get(record["status"], RuntimeFailedConfig)()
        return {**result, "time": kind, "__error__": kind, "message": f"{record['status']}: {record['message'] or 'no message'}"}
    result["time"] = record["median_us"] / 1000
    for name, metric in metrics.items():
        result[name] = metric(result) if callable(metric) else eval(metric, {}, result)
    return result


def _best(results: Results, objective: str, higher: Optional[bool]) -> Dict[str, Any]:
    """Empty if no config is right. Rates such as GB/s are higher if they are better."""
    right = [result for result in results if "__error__" not in result]
    if right and objective not in right[0]:
        raise ValueError(f"objective is {objective!r}; expected time or one of metrics")
    higher = "/" in objective if higher is None else higher
    return (max if higher else min)(right, key=lambda result: result[objective], default={})
