"""Runs a strategy of Kernel Tuner in its simulation mode, for `tilesmith simulate --beside-kernel-tuner`.

Arguments: CACHE STRATEGY RUNS EVALUATIONS SEED, or NAME,.. to say which strategies these are. Answers are lines of JSON
on descriptor 3, because Kernel Tuner prints on the others."""
import json
import os
import random
import sys
import time

# Those of 1.5.0 that were better than random_sample on 20 files (docs/search_strategies.md), best first.
WORTH_COMPARING = (
    "adaptive_tabu_greywolf,hybrid_vndx,genetic_algorithm,pso,simulated_annealing,firefly_algorithm,dual_annealing")


def answer(**fields):
    os.write(3, (json.dumps(fields) + "\n").encode())


def run_all(cache, strategy, runs, evaluations, seed):
    with open(cache) as file:
        recorded = json.load(file)
    names, entries = recorded["tune_params_keys"], recorded["cache"]
    parameters = {name: recorded["tune_params"][name] for name in names}
    for entry in entries.values():
        if entry["time"] is None:
            entry["time"] = entry["__error__"] = util.RuntimeFailedConfig()
    known = {tuple(entry[name] for name in names) for entry in entries.values()}

    def is_recorded(config):
        return tuple(config[name] for name in names) in known

    # tune_kernel() reads the file and builds the space. Done before, neither counts as the strategy's time. Each run
    # needs a space of its own: it keeps the neighbours of where a strategy was, and a later run would go there first.
    build = interface.Searchspace
    util.process_cache = lambda *_: entries
    for run_seed in range(seed, seed + runs):
        space = build(parameters, is_recorded, sys.maxsize)
        interface.Searchspace = lambda *_, space=space, **__: space
        random.seed(run_seed)
        numpy.random.seed(run_seed % 2**32)
        began = time.process_time()
        results, _ = interface.tune_kernel(
            "kernel", "", 1, [], parameters, restrictions=is_recorded, cache=cache, simulation_mode=True,
            strategy=strategy, strategy_options={"max_fevals": evaluations})
        seconds = time.process_time() - began
        answer(configs=[result["tilesmith_index"] for result in results], seconds=seconds)


try:
    from kernel_tuner import interface, util
    import numpy

    if len(sys.argv) > 2:
        run_all(*sys.argv[1:3], *map(int, sys.argv[3:]))
    else:
        strategies = (WORTH_COMPARING if sys.argv[1] == "all" else sys.argv[1]).split(",")
        unknown = [name for name in strategies if name not in interface.strategy_map]
        if unknown:
            raise ValueError(f"{unknown[0]} is none of {', '.join(interface.strategy_map)}")
        answer(strategies=strategies)
except Exception as error:  # whatever a strategy throws
    answer(error=f"{type(error).__name__}: {' '.join(str(error).split())}")
