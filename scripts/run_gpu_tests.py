#!/usr/bin/env python3
"""Runs a Catch2 program (2.13 or 3) test by test as its report comes in, and writes a summary as JSON.

A test that fails, crashes the program or exceeds its time limit counts as failed, and the program is started again for
the tests that had not run: one bad test costs itself, even if it loses the process its device context. Several GPUs share the
tests out. Called by gpu_check.sh, which see.
"""
import argparse
import ctypes
import datetime
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree

POLL_SECONDS = 0.2
DETAIL_TAGS = ("Exception", "FatalErrorCondition", "Failure")
MOST_DETAILS, MOST_INFO = 40, 400  # of a test; characters that are said about one of them


def escaped(name):
    """A test's name as a Catch2 test specification: what would end the name or begin a tag is escaped."""
    return "".join("\\" + letter if letter in "\\,[]" else letter for letter in name)


def list_tests(program):
    """The names of all tests that are not hidden."""
    identity = subprocess.run([program, "--libidentify"], capture_output=True, text=True, check=False).stdout
    listing = ["--list-test-names-only"] if "version: 2" in " ".join(identity.split()) else ["--list-tests", "--verbosity", "quiet"]
    # Catch2 2 exits with the number of tests, so the exit status says nothing.
    lines = subprocess.run([program, *listing, "~[.]"], capture_output=True, text=True, check=False).stdout.splitlines()
    return [line.strip() for line in lines if line.strip()]


class Report:
    """Reads Catch2's XML report while it is being written."""

    def __init__(self, on_result):
        self.on_result = on_result
        self.parser = ElementTree.XMLPullParser(["start", "end"])
        self.running = None
        self.started_at = 0.0
        self.details, self.infos = [], []
        self.broken = ""
        self.any_failed = False  # nothing is read after that: what follows in this process may fail for it

    def feed(self, data):
        if self.broken or not data:
            return
        try:
            self.parser.feed(data)
            for event, element in self.parser.read_events():
                if not self.any_failed:
                    self._handle(event, element)
        except ElementTree.ParseError as error:
            self.broken = str(error)

    def _handle(self, event, element):
        if event == "start":
            if element.tag == "TestCase":
                self.running, self.details, self.infos, self.started_at = element.get("name"), [], [], time.monotonic()
            return
        if element.tag == "Info":
            self.infos.append(" ".join((element.text or "").split())[:MOST_INFO])
        elif element.tag == "Expression" and element.get("success") == "false":
            expanded = (element.findtext("Expanded") or "").strip()
            said = f" ({'; '.join(self.infos)})" if self.infos else ""
            self.infos = []
            self.details.append(f"{element.get('filename')}:{element.get('line')}: {expanded}{said}")
        elif element.tag in DETAIL_TAGS:
            self.details.append(f"{element.get('filename')}:{element.get('line')}: {(element.text or '').strip()}")
        elif element.tag == "OverallResult":
            if element.get("success") != "true":
                status = "failed"
            elif int(element.get("skips") or 0) > 0:
                status = "skipped"
            else:
                status = "passed"
            self.finish(status, self.details)

    def finish(self, status, details):
        """Ends the test that is running."""
        if self.running is not None:
            self.on_result(self.running, status, time.monotonic() - self.started_at, details)
            self.running = None
            self.any_failed = status == "failed"


def end_with_parent():
    """In the child: what kills this program kills it too, so that a resumed check does not find it on the GPU."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


def kill_group(process):
    """The process and what it has started."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def ending(returncode):
    if returncode < 0:
        try:
            return f"killed by {signal.Signals(-returncode).name}"
        except ValueError:
            return f"killed by signal {-returncode}"
    return f"exit status {returncode}"


class Run:
    """The program, run until a test fails."""

    def __init__(self, command, gpu, on_result, limit_seconds):
        self.limit_seconds = limit_seconds
        self.report = Report(on_result)
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "report.xml")
        self.position = 0
        environment = {**os.environ, "CUDA_VISIBLE_DEVICES": gpu} if gpu else None
        self.process = subprocess.Popen([*command, "--reporter", "xml", "--out", self.path], stdin=subprocess.DEVNULL,
                                        env=environment, start_new_session=True, preexec_fn=end_with_parent)

    def _read(self):
        if os.path.exists(self.path):
            with open(self.path, "rb") as file:
                file.seek(self.position)
                data = file.read()
            self.position += len(data)
            self.report.feed(data)

    def end(self):
        if self.process.poll() is None:
            kill_group(self.process)
        self.folder.cleanup()

    def step(self):
        """None while it runs; then whether a failed test cut it short, and its exit status."""
        returncode = self.process.poll()
        self._read()
        report = self.report
        if returncode is None:
            too_long = report.running is not None and time.monotonic() - report.started_at > self.limit_seconds
            if not report.any_failed and not too_long:
                return None
            kill_group(self.process)
            if too_long:
                self._read()
                report.finish("failed", [f"took more than {self.limit_seconds} s and was ended"])
        elif not report.any_failed and (report.running is not None or report.broken):
            report.finish("failed", [*report.details, f"ended the test program ({report.broken or ending(returncode)})"])
        elif not report.any_failed:
            self.end()
            return False, returncode
        self.end()
        return True, self.process.returncode


class Lane:
    """Tests that run one after the other on one GPU; the program is started again for those that a failed one kept from running."""

    def __init__(self, command, gpu, names, are_all, limit_seconds, on_result):
        self.command, self.gpu, self.names, self.limit_seconds = command, gpu, names, limit_seconds
        self.are_all = are_all  # that the program has
        self.on_result = on_result
        self.finished = {}  # status by name
        self.finished_before = 0
        self.run = None

    def _note(self, name, status, seconds, details):
        self.finished[name] = status
        self.on_result(name, status, seconds, details)

    def step(self):
        """Whether any is left."""
        if self.run is None:
            left = [name for name in self.names if name not in self.finished]
            if not left:
                return False
            self.finished_before = len(self.finished)
            chosen = [] if self.are_all and not self.finished else [",".join(escaped(name) for name in left)]
            self.run = Run([*self.command, *chosen], self.gpu, self._note, self.limit_seconds)
        ended = self.run.step()
        if ended is None:
            return True
        self.run = None
        cut_short, returncode = ended
        if returncode != 0 and not cut_short and "failed" not in self.finished.values():
            self._note("the test program ends well", "failed", 0.0, [f"{ending(returncode)}, though no test failed"])
        if len(self.finished) == self.finished_before:
            for name in self.names:
                if name not in self.finished:
                    self._note(name, "failed", 0.0, [f"never ran: the program ended first ({ending(returncode)})"])
        return True

    def end(self):
        if self.run is not None:
            self.run.end()


def shares(names, seconds, count):
    """The names in so many lists that should take about as long, by what each took before (of those that are new: what one does on
    the mean), the longest given out first; within a list as they were."""
    usual = sum(seconds.values()) / len(seconds) if seconds else 1.0
    lists, loads = [set() for _ in range(count)], [0.0] * count
    for name in sorted(names, key=lambda one: -seconds.get(one, usual)):
        least = loads.index(min(loads))
        lists[least].add(name)
        loads[least] += seconds.get(name, usual)
    return [[name for name in names if name in one] for one in lists]


def passed_before(path, same):
    """The tests that passed by the summary at `path`, with its date, if what it says of code, device and driver is `same`."""
    try:
        with open(path, encoding="utf-8") as file:
            summary = json.load(file)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        sys.exit(f"{path}: expected a summary written by this script: {error}")
    if any(summary.get(key, "") != value for key, value in same.items()):
        return {}
    date = summary.get("date", "")
    return {test["name"]: {"date": date, **test} for test in summary.get("tests", []) if test.get("status") == "passed"}


def seconds_before(path):
    """What each test took by the summary at `path`, of whatever code."""
    try:
        with open(path, encoding="utf-8") as file:
            return {test["name"]: float(test["seconds"]) for test in json.load(file)["tests"]}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def run_all(command, gpus, limit_seconds, known, seconds, save):
    """Returns one dict a test, in the order of the program; those in `known` are not run. save(tests, left) after each that is."""
    program = command[-1]
    names = list_tests(program)
    if not names:
        return [{"name": "the test program lists its tests", "status": "failed", "seconds": 0.0,
                 "message": f"{program} lists none"}]
    results = {name: known[name] for name in names if name in known}

    def on_result(name, status, seconds, details):
        message = "; ".join(details[:MOST_DETAILS])
        if len(details) > MOST_DETAILS:
            message += f"; and {len(details) - MOST_DETAILS} more"
        results[name] = {"name": name, "status": status, "seconds": round(seconds, 3)}
        if message:
            results[name]["message"] = message
        print(f"{status:8} {seconds:8.2f} s  {name}", flush=True)
        if status == "failed":
            print(f"         {message}", flush=True)
        save(list(results.values()), sum(name not in results for name in names))

    left = [name for name in names if name not in results]
    lanes = [Lane(command, gpu, share, len(share) == len(names), limit_seconds, on_result)
             for gpu, share in zip(gpus, shares(left, seconds, len(gpus)))]
    try:
        while any([lane.step() for lane in lanes]):
            time.sleep(POLL_SECONDS)
    finally:
        for lane in lanes:
            lane.end()
    ordered = [results[name] for name in names if name in results]
    return ordered + [result for name, result in results.items() if name not in names]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--gpu", required=True, help="what gpu_info.py prints")
    parser.add_argument("--content-hash", required=True)
    parser.add_argument("--test-limit", type=int, required=True, help="seconds")
    parser.add_argument("--gpus", default="", help="GPUs to share the tests out among, as CUDA_VISIBLE_DEVICES names each: 0,1")
    parser.add_argument("--programs", type=int, default=1, help="on each GPU, side by side")
    parser.add_argument("--resume", action="store_true",
                        help="keep what passed by --out's summary on the same content, device and driver")
    parser.add_argument("under", nargs="*", help="a command to run the program under")
    options = parser.parse_args()
    gpu = json.loads(options.gpu)

    same = {
        "content_hash": options.content_hash,
        "device": gpu.get("device", ""),
        "driver": gpu.get("driver", ""),
        "cuda_driver": gpu.get("cuda_driver", ""),
        "under": os.path.basename(options.under[0]) if options.under else "",
    }
    unfinished = f"{options.out}.part"

    def save(tests, left):
        """Whole or not at all. Until no test is left, what --out had stays, and --resume goes on from the file beside it."""
        count = {status: sum(test["status"] == status for test in tests) for status in ("passed", "failed", "skipped")}
        summary = {
            **{key: value for key, value in same.items() if key != "under" or value},
            "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            **count,
            **({"left": left} if left else {}),
            "tests": tests,
        }
        with open(f"{unfinished}.tmp", "w", encoding="utf-8") as file:
            json.dump(summary, file, indent=1, ensure_ascii=False)
            file.write("\n")
        os.replace(f"{unfinished}.tmp", unfinished)
        return count

    known = {**passed_before(options.out, same), **passed_before(unfinished, same)} if options.resume else {}
    tests = run_all([*options.under, options.program], options.gpus.split(",") * options.programs, options.test_limit, known,
                    seconds_before(options.out), save)
    count = save(tests, 0)
    os.replace(unfinished, options.out)
    print(f"{count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped: {options.out}")
    return 1 if count["failed"] or not count["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
