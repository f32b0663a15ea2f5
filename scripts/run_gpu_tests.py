#!/usr/bin/env python3
"""Runs a Catch2 program (2.13 or 3) test by test as its report comes in, and writes a summary as JSON.

A test that fails, crashes the program or exceeds its time limit counts as failed, and the program is started again for
the tests that had not run: one bad test costs itself, even if it loses the process its device context. Called by
gpu_check.sh, which see.
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
        self.details = []
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
                self.running, self.details, self.started_at = element.get("name"), [], time.monotonic()
            return
        if element.tag == "Expression" and element.get("success") == "false":
            expanded = (element.findtext("Expanded") or "").strip()
            self.details.append(f"{element.get('filename')}:{element.get('line')}: {expanded}")
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


def run_once(command, on_result, limit_seconds):
    """Runs the program until a test fails. Returns whether that cut it short, and its exit status."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "report.xml")
        report = Report(on_result)
        position = 0
        with subprocess.Popen([*command, "--reporter", "xml", "--out", path], stdin=subprocess.DEVNULL,
                              start_new_session=True, preexec_fn=end_with_parent) as process:
            timed_out = False
            try:
                while True:
                    returncode = process.poll()
                    if os.path.exists(path):
                        with open(path, "rb") as file:
                            file.seek(position)
                            data = file.read()
                        position += len(data)
                        report.feed(data)
                    if returncode is not None:
                        break
                    if report.any_failed:
                        kill_group(process)
                        return True, process.returncode
                    if report.running is not None and time.monotonic() - report.started_at > limit_seconds:
                        timed_out = True
                        kill_group(process)
                        continue
                    time.sleep(POLL_SECONDS)
            finally:
                if process.poll() is None:
                    kill_group(process)
        if timed_out:
            report.finish("failed", [f"took more than {limit_seconds} s and was ended"])
            return True, returncode
        if report.any_failed:
            return True, returncode
        if report.running is not None or report.broken:
            why = report.broken or ending(returncode)
            report.finish("failed", [*report.details, f"ended the test program ({why})"])
            return True, returncode
        return False, returncode


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


def run_all(program, under, limit_seconds, known, save):
    """Returns one dict a test, in the order of the program; those in `known` are not run. save(tests, left) after each that is."""
    names = list_tests(program)
    if not names:
        return [{"name": "the test program lists its tests", "status": "failed", "seconds": 0.0,
                 "message": f"{program} lists none"}]
    results = {name: known[name] for name in names if name in known}

    def on_result(name, status, seconds, details):
        message = "; ".join(details[:5])
        results[name] = {"name": name, "status": status, "seconds": round(seconds, 3)}
        if message:
            results[name]["message"] = message
        print(f"{status:8} {seconds:8.2f} s  {name}", flush=True)
        if status == "failed":
            print(f"         {message}", flush=True)
        save(list(results.values()), sum(name not in results for name in names))

    while True:
        left = [name for name in names if name not in results]
        if not left:
            break
        before = len(results)
        chosen = [] if len(left) == len(names) else [",".join(escaped(name) for name in left)]
        cut_short, returncode = run_once([*under, program, *chosen], on_result, limit_seconds)
        anything_failed = any(result["status"] == "failed" for result in results.values())
        if returncode != 0 and not cut_short and not anything_failed:
            on_result("the test program ends well", "failed", 0.0, [f"{ending(returncode)}, though no test failed"])
        if len(results) == before:
            for name in names:
                if name not in results:
                    on_result(name, "failed", 0.0, [f"never ran: the program ended first ({ending(returncode)})"])
            break
    ordered = [results[name] for name in names if name in results]
    return ordered + [result for name, result in results.items() if name not in names]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--gpu", required=True, help="what gpu_info.py prints")
    parser.add_argument("--content-hash", required=True)
    parser.add_argument("--test-limit", type=int, required=True, help="seconds")
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
    count = save(run_all(options.program, options.under, options.test_limit, known, save), 0)
    os.replace(unfinished, options.out)
    print(f"{count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped: {options.out}")
    return 1 if count["failed"] or not count["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
