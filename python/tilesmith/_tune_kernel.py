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
    cache: records stay in the database `cache`.db, so that the next call goes on from there. By default they are deleted at the end.
    strategy: None or "brute_force" tries every config; names that `tilesmith strategies` lists are passed on; others are our default.
    strategy_options: "max_fevals" and "time_limit" in seconds.
    compiler, iterations, log, parallel and platform are ignored: kernels are compiled by NVRTC and timed until the time is certain.
    """
    _refuse(lang=lang if str(lang or "cuda").lower() not in ("cuda", "cupy", "nvcuda") else None, verify=verify, texmem_args=texmem_args,
            simulation_mode=simulation_mode, observers=observers, objectives=objectives,
            compiler_options=[one for one in compiler_options or [] if not one.startswith(("-O", "-std", "--std", "-arch", "--gpu-arch"))],
            strategy=strategy if not isinstance(strategy, (str, type(None))) else None)
    parameters = Parameters(tune_params)
    with tempfile.TemporaryDirectory(prefix="tilesmith-") as name:
        folder = pathlib.Path(name)
        write_folder(folder, kernel_name, kernel_source, problem_size, arguments, parameters, (grid_div_x, grid_div_y, grid_div_z), restrictions,
                     answer, atol, smem_args, cmem_args, defines, block_size_names, cache is not None)
        options = strategy_options or {}
        own = STRATEGIES.get(strategy, strategy if strategy in OWN_STRATEGIES else OWN_STRATEGIES[0])
        words = ["--strategy", str(own), "--device", str(device), "--peer", "none"]
        words += ["--unproven"] * all(one is None for one in answer or []) + ["-v"] * verbose + ["--seed", str(seed)] * (seed is not None)
        words += ["--max-candidates", str(options["max_fevals"])] if options.get("max_fevals") else []
        words += ["--budget", f"{max(round(options['time_limit']), 1)}s"] if options.get("time_limit") else []
        records = _tune(folder, f"{os.fspath(cache)}.db" if cache else str(folder / "tuned.db"), words, quiet)
    results = [_result(parameters.values_of(record["config"]), record, metrics or {}) for record in records]
    best = _best(results, objective or "time", objective_higher_is_better)
    if not quiet:
        keys = [key for key in (*tune_params, "time", *(metrics or {})) if key in best]
        shown = ", ".join(f"{key}={best[key]:.4g}" if isinstance(best[key], float) else f"{key}={best[key]}" for key in keys)
        print(f"best of {len(results)} configs: {shown} (time in ms)" if best else f"none of {len(results)} configs is right")
    from . import __version__

    env = {key: records[0][key] for key in ("device", "driver_version", "nvrtc_version", "compiler_options")}
    return results, {"device_name": env["device"].partition("/")[0], **env, "tilesmith_version": __version__, "best_config": best}


_EXPECTED = {"lang": "None, \"CUDA\", \"CuPy\" or \"NVCUDA\"", "verify": "the results in answer=", "texmem_args": "arrays in arguments or cmem_args",
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
