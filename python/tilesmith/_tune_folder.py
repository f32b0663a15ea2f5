"""The kernel folder (docs/own_kernels.md) that a call of tune_kernel describes."""

from __future__ import annotations

import hashlib
import inspect
import json
import math
import os
import pathlib
import re
import shutil
from typing import Any, Dict, List, Tuple

from ._traced import Choice, Symbol, trace
from ._types import type_name

BLOCK_SIZES = {"block_size_x": 256, "block_size_y": 1, "block_size_z": 1}  # of a block whose size is no parameter
RELATIVE = 1e-5  # numpy.allclose's own


class Parameters:
    """What tune_params becomes: integers, which are the places in the list where the values are no integers."""

    def __init__(self, given: Dict[str, Any]) -> None:
        self.values = {name: list(dict.fromkeys(values)) for name, values in given.items()}
        self.keys = {name: name if all(hasattr(value, "__index__") for value in values) else f"{name}_index" for name, values in self.values.items()}
        self.symbols = {name: Symbol(name) if key == name else Choice(key, self.values[name]) for name, key in self.keys.items()}
        self.json = {key: [int(value) for value in self.values[name]] if key == name else list(range(len(self.values[name])))
                     for name, key in self.keys.items()}

    def values_of(self, config: str) -> Dict[str, Any]:
        """Of "name{block=64,tile=2}", with the values as they were given."""
        numbers = {key: int(number) for key, number in re.findall(r"(\w+)=(-?\d+)", config)}
        return {name: self.values[name][self.json[key].index(numbers[key])] for name, key in self.keys.items()}

    def evaluated(self, given: Any) -> Any:
        """What a text or a function gives; else the number itself."""
        if isinstance(given, str):
            return eval(given.strip(), {"math": math, "int": math.trunc, **self.symbols})
        if not callable(given):
            return given
        names = list(inspect.signature(given).parameters)
        by_name = len(names) > 1 or names[0] in self.symbols
        return given(*(self.symbols[name] for name in names)) if by_name else given(self.symbols)

    def whole(self, given: Any) -> Any:
        """Texts give whole numbers; what functions give may be a fraction until the end."""
        value = self.evaluated(given)
        return math.trunc(value) if isinstance(given, str) else value

    def text(self, given: Any, what: str) -> str:
        """An expression of kernel.json."""
        return trace(lambda: self.whole(given), what)


def write_folder(folder: pathlib.Path, kernel_name: str, kernel_source: Any, problem_size: Any, arguments: Any, parameters: Parameters,
                 grid_div: Tuple[Any, Any, Any], restrictions: Any, answer: Any, atol: float, smem_args: Any, cmem_args: Any, defines: Any,
                 block_size_names: Any, is_kept: bool) -> None:
    """Writes kernel.json and the files that it names. is_kept: its records are in a database that other versions of the kernel use, too."""
    names = [*(block_size_names or []), *list(BLOCK_SIZES)[len(block_size_names or []):]]
    blocks = [parameters.symbols.get(name, (defines or {}).get(name, usual)) for name, usual in zip(names, BLOCK_SIZES.values())]
    grid = [_grid_size(parameters, problem_size, axis, grid_div[axis], names[axis]) for axis in range(3)]
    if defines is None:
        defines = {"kernel_tuner": 1, **{name: block for name, block in zip(names, blocks) if name not in parameters.symbols},
                   **{f"grid_size_{axis}": size for axis, size in zip("xyz", grid)}}
    text = _source_text(kernel_source, folder)
    (folder / "kernel.cu").write_text(_with_defines(text, parameters, kernel_name, defines))
    definition: Dict[str, Any] = {
        "name": re.sub(r"\W+", "_", kernel_name.partition("<")[0]).strip("_")[:50], "source": "kernel.cu", "entry": kernel_name,
        "parameters": parameters.json, "rules": _rules(parameters, restrictions), "deterministic": False,
        "launch": {"grid": grid, "block": [parameters.text(block, name) for name, block in zip(names, blocks)],
                   "shared_bytes": parameters.text((smem_args or {}).get("size", 0), "smem_args")},
        **_arguments(folder, _signature(text, kernel_name, len(arguments)), arguments, answer, atol, cmem_args or {})}
    if is_kept:  # another name for each version, because `query --all` lists all records of a name
        digest = hashlib.sha256(json.dumps(definition).encode())
        for file in sorted(folder.iterdir()):
            digest.update(file.read_bytes())
        definition["name"] += f"_{digest.hexdigest()[:8]}"
    (folder / "kernel.json").write_text(json.dumps(definition, allow_nan=False, indent=1))


def _source_text(given: Any, folder: pathlib.Path) -> str:
    """A text or the name of a file. Of a list the first; the others are files that it includes."""
    first, *others = given if isinstance(given, (list, tuple)) else [given]
    if not isinstance(first, (str, os.PathLike)):
        raise TypeError(f"kernel_source is a {type(first).__name__}; expected a text, the name of a file, or a list of these")
    for other in others:
        shutil.copy(other, folder)
    return first if isinstance(first, str) and re.search(r"[\n;{]", first) else pathlib.Path(first).read_text()


def _with_defines(text: str, parameters: Parameters, entry: str, defines: Dict[str, Any]) -> str:
    """The program defines the parameters themselves."""
    lines = []
    for name, key in parameters.keys.items():
        if key != name:
            cases = [f"if {key} == {place}\n#define {name} {value}" for place, value in enumerate(parameters.values[name])]
            lines += ["#" + "\n#el".join(cases), "#endif"]
        elif not re.search(rf"<.*\b{name}\b", entry):  # the pragma reads constants, not macros
            text, found = re.subn(rf"(#\s*pragma\s+unroll[\s(]+){name}\b", rf"\g<1>unroll_by_{name}", text)
            lines += [f"constexpr int unroll_by_{name} = {name};"] * bool(found)
    for name, value in defines.items():
        body = parameters.text(value, name) if callable(value) else str(value)
        if name in parameters.symbols and body != name:
            raise ValueError(f"defines: {name} is {body}; expected no other definition of a parameter")
        lines += [f"#define {name} {body}"] * (body != name)
    return "\n".join([*lines, "#line 1", text])


def _grid_size(parameters: Parameters, problem_size: Any, axis: int, given: Any, block_name: str) -> str:
    def problem() -> Any:
        sizes = parameters.whole(problem_size)
        sizes = sizes if isinstance(sizes, (tuple, list)) else [sizes]
        return parameters.whole(sizes[axis]) if axis < len(sizes) else 1

    def divisor(of: Any) -> Any:
        return math.prod(map(divisor, of)) if isinstance(of, (list, tuple)) else parameters.whole(of)

    divisors = parameters.symbols.get(block_name, 1) if given is None else given
    return trace(lambda: math.ceil(Symbol("1") * problem() / divisor(divisors)), f"the grid along {'xyz'[axis]}")


def _rules(parameters: Parameters, restrictions: Any) -> List[Dict[str, str]]:
    rules = []
    for given in [restrictions] if callable(restrictions) or isinstance(restrictions, str) else restrictions or []:
        shown = " ".join(given.split()) if isinstance(given, str) else "a function"
        rules.append({"name": shown, "reason": "a restriction", "holds": trace(lambda: bool(parameters.evaluated(given)), f"restrictions: {shown}")})
    return rules


def _signature(text: str, entry: str, count: int) -> List[Tuple[str, bool]]:
    """The arguments' names, and whether what they point to is const. If the source is not understood they are arg0, arg1, ..., not const."""
    name = re.escape(entry.partition("<")[0].rpartition("::")[2].strip())
    plain = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.S)
    for found in re.findall(rf"\b{name}\s*\(([^()]*)\)\s*\{{", plain):
        declared = found.split(",")
        names = re.findall(r"(\w+)\s*(?:\[[^\[\]]*\]\s*)*(?:,|$)", found)
        if count == len(declared) == len(set(names)):
            return [(name, re.search(r"\bconst\b", one.partition("*")[0]) is not None) for name, one in zip(names, declared)]
    return [(f"arg{place}", False) for place in range(count)]


def _arguments(folder: pathlib.Path, signature: List[Tuple[str, bool]], arguments: Any, answer: Any, atol: float,
               cmem_args: Dict[str, Any]) -> Dict[str, Any]:
    answers = [None] * len(arguments) if answer is None else answer
    if len(answers) != len(arguments):
        raise ValueError(f"answer has {len(answers)} entries; expected {len(arguments)}, one for each argument")
    listed, files, tolerance = [], {}, {}
    for (name, is_const), given, expected in zip(signature, arguments, answers):
        if isinstance(given, (bool, int, float)) or getattr(given, "shape", None) == () and hasattr(given, "item"):
            if expected is not None:
                raise ValueError(f"answer: {name} is a number; expected None")
            listed.append(_value(name, given))
            continue
        role = "in" if is_const and expected is None else "inout"
        listed.append(_buffer(folder, name, given, role))
        if expected is not None:
            reference = _buffer(folder, f"{name}_answer", expected, role)
            if reference[f"{name}_answer"] != listed[-1][name]:
                raise ValueError(f"answer: {name} is {reference[f'{name}_answer']}; expected {listed[-1][name]}")
            files[name] = reference["fill"]["file"]
            tolerance[name] = "exact" if listed[-1][name][0] in "su" else {"absolute": float(atol), "relative": RELATIVE}
    listed += [_buffer(folder, name, given, "constant") for name, given in cmem_args.items()]
    return {"arguments": listed, **({"reference": {"files": files}, "tolerance": tolerance} if files else {})}


def _value(name: str, given: Any) -> Dict[str, Any]:
    dtype = type_name(given.dtype) if hasattr(given, "dtype") else "f32" if isinstance(given, float) else "s32"
    if dtype is None or dtype[0] not in "fsu" or dtype == "f16":
        raise TypeError(f"{name} is a number of type {given.dtype}; expected an integer, float32 or float64")
    return {name: dtype, "value": given.item() if hasattr(given, "item") else given}


def _buffer(folder: pathlib.Path, name: str, given: Any, role: str) -> Dict[str, Any]:
    import numpy

    array = given.get() if type(given).__module__.partition(".")[0] == "cupy" else given.cpu() if hasattr(given, "cpu") else given
    if hasattr(array, "__array__"):
        array = numpy.asarray(array)
    elif hasattr(array, "__dlpack__"):
        array = numpy.from_dlpack(array)
    dtype = type_name(getattr(array, "dtype", type(given)))
    if dtype is None:
        raise TypeError(f"{name} is a {type(given).__name__} of {getattr(array, 'dtype', 'no type')}; expected a number or an array of numbers")
    array.tofile(folder / f"{name}.bin")
    return {name: f"{dtype}[{array.size}]", "role": role, "fill": {"file": f"{name}.bin"}}
