"""The program `tilesmith`: where it is, and tuning by it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from typing import Dict, Iterable, Mapping, Optional, Union

from . import _abi
from ._defaults import set_default, shipped_database, user_database
from ._errors import Error
from ._library import Library, Path
from ._problem import Problem
from ._quantise import FOLDER

Workload = Union[Path, Problem, Iterable[Problem], Mapping[Problem, float]]


def program() -> str:
    """Path of the program: $TILESMITH_PROGRAM, the package's own, else `tilesmith` on the PATH."""
    named = os.environ.get("TILESMITH_PROGRAM")
    if named:
        return named
    own = _abi.FOLDER / "bin" / "tilesmith"
    if own.exists():
        return str(own)
    found = shutil.which("tilesmith")
    # The console script of this package starts this very function.
    if found is None or open(found, "rb").read(2) == b"#!":
        raise Error("the program tilesmith was not found; expected a wheel of tilesmith-gemm, $TILESMITH_PROGRAM, or the program on the PATH")
    return found


def environment() -> Dict[str, str]:
    """Of the program: it knows the package's own kernel, so that workloads may name it."""
    folders = [os.environ.get("TILESMITH_FAMILY_DIR", ""), str(FOLDER)]
    return {**os.environ, "TILESMITH_FAMILY_DIR": ":".join(filter(None, folders))}


def main() -> None:
    """The console script `tilesmith`, which becomes the program."""
    try:
        file = program()
        os.execve(file, [file, *sys.argv[1:]], environment())
    except Error as why:
        sys.exit(f"tilesmith: {why}")
    except OSError as why:
        sys.exit(f"tilesmith: {file} could not be started: {why.strerror}")


def workload_text(workload: Union[Problem, Iterable[Problem], Mapping[Problem, float]]) -> str:
    """Lines of a workload file. A mapping gives how often each problem is called: its share of the time goes by calls x time."""
    if isinstance(workload, Problem):
        return f"{workload}\n"
    if isinstance(workload, Mapping):
        return "weights calls\n" + "".join(f"{problem} {float(calls):g}\n" for problem, calls in workload.items())
    return "".join(f"{problem}\n" for problem in workload)


def tune(workload: Workload, budget: Union[str, float, None] = None, *, database: Optional[Path] = None, device: int = 0,
         arguments: Iterable[str] = (), quiet: bool = False) -> str:
    """Runs `tilesmith tune` and shows its progress on stderr. Returns the database's path; tilesmith.gemm uses it from then on.

    workload: a built-in one's name ("llama3-8b") or a file, or Problems, with their calls if it is a mapping. budget: seconds, or "10m", "2h30m".
    database: by default your own (see docs/python.md), which begins with what ships for this device. arguments: more for the program.
    Raises Error with the program's last line if it fails.
    """
    target = os.fspath(database) if database is not None else str(user_database())
    if database is None:
        os.makedirs(os.path.dirname(os.path.abspath(target)), exist_ok=True)
    if not os.path.exists(target):
        _begin(target, device)
    file = None
    try:
        if isinstance(workload, (str, os.PathLike)):
            name = os.fspath(workload)
        else:
            with tempfile.NamedTemporaryFile("w", suffix=".workload", delete=False) as written:
                written.write(workload_text(workload))
            name = file = written.name
        command = [program(), "tune", "--workload", name, "--db", target, "--device", str(device), *arguments]
        if budget is not None:
            command += ["--budget", budget if isinstance(budget, str) else f"{max(round(budget), 1)}s"]
        run(command, quiet)
    finally:
        if file is not None:
            os.unlink(file)
    set_default(None, device)
    if database is not None:
        set_default(Library(target, device), device)
    return target


def _begin(target: str, device: int) -> None:
    """Copies what ships for the device, if something does, so that tuning goes on from there."""
    shipped = shipped_database(device)
    if shipped is not None:
        os.makedirs(os.path.dirname(os.path.abspath(target)), exist_ok=True)
        shutil.copyfile(shipped, target)


def run(command: "list[str]", quiet: bool) -> None:
    last = ""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL if quiet else None, stderr=subprocess.PIPE, text=True, errors="replace", env=environment()) as run:
        assert run.stderr is not None
        try:
            for line in run.stderr:
                last = line.strip() or last
                if not quiet:
                    print(line, end="", file=sys.stderr, flush=True)
        except KeyboardInterrupt:
            run.terminate()  # it keeps what it has
            raise
    if run.returncode != 0:
        raise Error(f"tilesmith tune ended with status {run.returncode}: {last or 'it said nothing'}")
