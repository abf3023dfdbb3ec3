"""Kill commands, fill the disk, take away folders: nothing may be lost or half written.

    scripts/faults             # 60 kills of fit, 40 of study, and all other faults
    scripts/faults 6 2         # fewer kills
    scripts/faults 6 2 7       # with another seed than 0

Each fit writes labels, centers, a model and a page where those of an earlier fit are.
Every other kill comes at a random moment of the run, the others while a file is being
written. After each fault every file is the earlier one or the new one, byte by byte,
and after the next undisturbed run nothing unfinished is left. Tables and samples are
small, so that a kill costs seconds. Prints a table; fails if anything was lost. The
disk that is full and the folder that is read-only are mounts, which need root and
Linux.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

PATIENTS = Path(__file__).parents[1] / "docs" / "cases" / "patients.csv"
N_PEOPLE = 60
FIT = ["-m", "rawlsian", "fit", "../people.csv", "--sensitive", "sex", "--clusters",
       "2", "--pooling", "0", "--no-new-people", "--force"]  # fmt: skip
STUDY = ["-c", """
from rawlsian.__main__ import main
from support.study import small_samples
with small_samples():
    main()
""", "study", "--runs", "1", "--samples", "1", "--clusters", "2"]  # fmt: skip
FILES = ("labels.csv", "labels.centers.csv", "model.json", "page.html")
ENDINGS = {".png": b"IEND\xaeB`\x82", ".svg": b"</svg>", ".html": b"</html>"}
# The study writes its report and results after each of six stages, and figures.
FILES_OF_STUDY = 12
N_SIGNALS = 10
SECONDS = 1800

Contents = dict[str, bytes]


def start(*arguments: str, **options: Any) -> subprocess.Popen[str]:
    """Start a command."""
    given = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, *arguments], **{**given, **options})


def fit(folder: Path, seed: int = 0, **options: Any) -> subprocess.Popen[str]:
    """Start a fit that writes all files into a folder."""
    # The page shows the command, which is to be the same in every folder.
    return start(
        *FIT, "--seed", str(seed), "--out", "labels.csv", "--save", "model.json",
        "--report", "page.html", cwd=folder, **options,
    )  # fmt: skip


def end(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Wait for a command; return its code and its last line of errors."""
    _, errors = process.communicate(timeout=SECONDS)
    lines = (errors or "").strip().splitlines()
    return process.returncode, lines[-1] if lines else ""


def contents(folder: Path) -> Contents:
    """Return the files of a fit."""
    paths = (folder / name for name in FILES)
    return {path.name: path.read_bytes() for path in paths if path.exists()}


def left_behind(folder: Path) -> list[str]:
    """Return names of unfinished files."""
    return [path.name for path in folder.rglob(".*")]


class Faults:
    """Faults, each a method that returns how often it was tried and what was lost."""

    def __init__(self, place: Path, seed: int) -> None:
        self.place, self.rng = place, np.random.default_rng(seed)
        rows = PATIENTS.read_text().splitlines(keepends=True)[: N_PEOPLE + 1]
        (place / "people.csv").write_text("".join(rows))
        self.new, self.old = (
            self._undisturbed(self._folder(name), seed)
            for seed, name in enumerate(("new", "old"))
        )
        began = time.perf_counter()
        self._undisturbed(self._folder("timed"), 0)
        self.seconds = time.perf_counter() - began

    def _folder(self, name: str) -> Path:
        folder = self.place / name
        folder.mkdir()
        return folder

    def _undisturbed(self, folder: Path, seed: int) -> Contents:
        code, errors = end(fit(folder, seed))
        assert code == 0, errors
        return contents(folder)

    def _with_earlier(self, folder: Path) -> Path:
        for name, content in self.old.items():
            (folder / name).write_bytes(content)
        return folder

    def _lost(self, folder: Path) -> list[str]:
        """Return files that are neither the earlier nor the new ones."""
        now = contents(folder)
        return [
            f"{name} is neither the earlier nor the new one"
            for name in FILES
            if now.get(name) not in (self.old[name], self.new[name])
        ]

    def _next_run(self, folder: Path) -> list[str]:
        """Return what is wrong after the next undisturbed run."""
        is_new = self._undisturbed(folder, 0) == self.new
        wrong = [] if is_new else ["the next run writes other files"]
        return wrong + [f"{name} is left behind" for name in left_behind(folder)]

    def _moment(self, seconds: float) -> float:
        """Return a moment of a run: of all of it, or every other time of its end."""
        first = self.rng.choice([0.0, 0.7])
        return float(self.rng.uniform(first, 1.05) * seconds)

    def kills_of_fit(self, n_kills: int) -> tuple[str, list[str]]:
        """Kill fits at random moments and while they write."""
        folder, lost = self._with_earlier(self._folder("killed")), list[str]()
        unfinished = set[str]()
        begin = partial(fit, folder)
        for _ in self._kills(n_kills, begin, self.seconds, folder, len(FILES)):
            lost += self._lost(folder)
            unfinished |= {*left_behind(folder)}
            self._with_earlier(folder)
        tried = f"{n_kills} ({len(unfinished)} while writing)"
        return tried, lost + self._next_run(folder)

    def _kills(
        self,
        n_kills: int,
        begin: Callable[[], subprocess.Popen[str]],
        seconds: float,
        folder: Path,
        n_written: int,
    ) -> Iterator[None]:
        """Begin a run and kill it, until so many were killed before their end."""
        while n_kills:
            began = time.perf_counter()
            if n_kills % 2:
                is_killed = _kill_at(begin(), self._moment(seconds))
            else:
                n_files = int(self.rng.integers(1, n_written + 1))
                is_killed = _kill_while_writing(begin(), folder, n_files)
            if is_killed:
                n_kills -= 1
            else:  # the machine is faster now
                seconds = time.perf_counter() - began
            yield

    def kills_of_study(self, n_kills: int) -> tuple[str, list[str]]:
        """Kill studies at random moments and while they write."""
        folder, lost, unfinished = self._folder("study"), list[str](), set[str]()
        command = [*STUDY, "--out", str(folder)]
        began = time.perf_counter()
        code, errors = end(start(*command))
        assert code == 0, errors
        seconds = time.perf_counter() - began
        begin = partial(start, *command)
        for _ in self._kills(n_kills, begin, seconds, folder, FILES_OF_STUDY):
            lost += _half_written(folder)
            unfinished |= {*left_behind(folder)}
        code, _ = end(start(*command))
        lost += [f"{name} is left behind" for name in left_behind(folder)]
        finished = json.loads((folder / "results.json").read_text())["stages_finished"]
        if code != 0 or len(finished) != 6:
            lost.append("the next run does not finish")
        return f"{n_kills} ({len(unfinished)} while writing)", lost

    def signals(self) -> tuple[str, list[str]]:
        """Send SIGINT and SIGTERM at random moments before the end."""
        folder, lost = self._with_earlier(self._folder("signals")), list[str]()
        codes, seconds = list[int](), self.seconds
        while len(codes) < N_SIGNALS:
            sent = (signal.SIGINT, signal.SIGTERM)[len(codes) % 2]
            began, process = time.perf_counter(), fit(folder)
            try:
                process.wait(self._moment(seconds))
            except subprocess.TimeoutExpired:
                process.send_signal(sent)
            else:  # the machine is faster now
                seconds = time.perf_counter() - began
                self._with_earlier(folder)
                continue
            codes.append(end(process)[0])
            # Python itself may not be ready yet to handle a signal.
            if codes[-1] not in (0, 130, -sent):
                lost.append(f"exit code {codes[-1]} after signal {sent}")
            lost += self._lost(folder)
            lost += [f"{name} is left behind" for name in left_behind(folder)]
            self._with_earlier(folder)
        said = ", ".join(f"{code}: {codes.count(code)}" for code in sorted(set(codes)))
        return f"{N_SIGNALS} (exit codes {said})", lost + self._next_run(folder)

    def full_disk(self) -> tuple[str, list[str]]:
        """Write where there is room for the labels, and not for the page."""
        folder = self._folder("full")
        with _mounted(folder, f"size={sum(map(len, self.old.values())) + 2**16}"):
            self._with_earlier(folder)
            return self._refused(folder, "No space left on device")

    def read_only(self) -> tuple[str, list[str]]:
        """Write into a file system that became read-only."""
        folder = self._folder("read_only")
        with _mounted(folder, "size=10m"):
            self._with_earlier(folder)
            _run("mount", "-o", "remount,ro", str(folder))
            return self._refused(folder, "Read-only file system")

    def _refused(self, folder: Path, reason: str) -> tuple[str, list[str]]:
        code, errors = end(fit(folder))
        lost = self._lost(folder) + left_behind(folder)
        if code not in (1, 2) or reason not in errors:
            lost.append(f"exit code {code}: {errors}")
        return "1", lost

    def odd_outputs(self) -> tuple[str, list[str]]:
        """Write to a link, a FIFO and a folder."""
        lost = []
        folder = self._with_earlier(self._folder("odd"))
        (folder / "labels.csv").rename(folder / "real.csv")
        (folder / "labels.csv").symlink_to("real.csv")
        self._undisturbed(folder, 0)
        if not (folder / "labels.csv").is_symlink() or contents(folder) != self.new:
            lost.append("a link was replaced, or not followed")
        for make in (os.mkfifo, os.mkdir):
            (folder / "model.json").unlink()
            make(folder / "model.json")
            code, _ = end(fit(folder))
            if code != 2 or left_behind(folder):
                lost.append(f"{make.__name__}: exit code {code}")
        return "3", lost

    def one_output_for_two(self) -> tuple[str, list[str]]:
        """Write the same files from two runs at once, five times."""
        folder, lost = self._with_earlier(self._folder("two")), list[str]()
        for _ in range(5):
            codes = [end(each)[0] for each in [fit(folder), fit(folder)]]
            if codes != [0, 0] or contents(folder) != self.new:
                lost.append(f"exit codes {codes}")
            lost += left_behind(folder)
        return "5", lost

    def closed_output(self) -> tuple[str, list[str]]:
        """Print to a reader that is gone, to a full device and to nothing."""
        lost = []
        reader, writer = os.pipe()
        os.close(reader)
        full = os.open("/dev/full", os.O_WRONLY)
        for name, stream in (("pipe", writer), ("full", full), ("closed", None)):
            folder = self._folder(f"output_{name}")
            options: dict[str, Any] = {"stdout": stream}
            if stream is None:
                options = {"stdout": None, "preexec_fn": lambda: os.close(1)}
            code, errors = end(fit(folder, **options))
            if code not in (0, 1) or contents(folder) != self.new:
                lost.append(f"{name}: exit code {code}: {errors}")
            if "Traceback" in errors:
                lost.append(errors)
        os.close(writer)
        os.close(full)
        return "3", lost

    def no_cache(self) -> tuple[str, list[str]]:
        """Compile without a folder to keep machine code in."""
        folder = self._folder("no_cache")
        environment = {**os.environ, "NUMBA_CACHE_DIR": "/proc/nowhere"}
        code, errors = end(fit(folder, env=environment))
        is_new = code == 0 and contents(folder) == self.new
        return "1", [] if is_new else [f"exit code {code}: {errors}"]

    def cold_starts(self) -> tuple[str, list[str]]:
        """Compile everything in four processes at once, into one cache."""
        cache = self._folder("cache")
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
        folders = [self._folder(f"cold_{j}") for j in range(4)]
        processes = [fit(folder, env=environment) for folder in folders]
        codes = [end(each)[0] for each in processes]
        alike = all(contents(folder) == self.new for folder in folders)
        return "4", [] if codes == [0] * 4 and alike else [f"exit codes {codes}"]


def _kill_at(process: subprocess.Popen[str], seconds: float) -> bool:
    """Kill a process; return False if it had ended before."""
    try:
        process.communicate(timeout=seconds)
        return False
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return True


def _kill_while_writing(
    process: subprocess.Popen[str], folder: Path, n_files: int
) -> bool:
    """Kill a process that writes its n-th file; return False if it ended before."""
    earlier, seen = set(left_behind(folder)), set[str]()
    while process.poll() is None:
        seen |= {*left_behind(folder)} - earlier
        if len(seen) >= n_files:
            process.kill()
            process.communicate()
            return True
        time.sleep(1e-4)
    process.communicate()
    return False


def _half_written(folder: Path) -> Iterator[str]:
    """Yield names of files of a study that are not whole."""
    json.loads((folder / "results.json").read_text())
    for path in folder.rglob("[!.]*"):
        wanted = ENDINGS.get(path.suffix, b"")
        if path.is_file() and not path.read_bytes().rstrip().endswith(wanted):
            yield f"{path.name} is half written"


@contextmanager
def _mounted(folder: Path, options: str) -> Iterator[None]:
    """Mount a file system in memory."""
    _run("mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder))
    try:
        yield
    finally:
        _run("umount", str(folder))


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)


def main(n_fits: int = 60, n_studies: int = 40, seed: int = 0) -> int:
    """Try all faults and print a table; return 1 if anything was lost."""
    n_lost = 0
    with tempfile.TemporaryDirectory() as place:
        faults = Faults(Path(place), seed)
        tries: dict[str, Callable[[], tuple[str, list[str]]]] = {
            "SIGKILL of `fit`": lambda: faults.kills_of_fit(n_fits),
            "SIGKILL of `study`": lambda: faults.kills_of_study(n_studies),
            "SIGINT and SIGTERM at random moments": faults.signals,
            "disk full": faults.full_disk,
            "folder read-only": faults.read_only,
            "output is a link, a FIFO, a folder": faults.odd_outputs,
            "two runs with one output": faults.one_output_for_two,
            "stdout closed, full, without a reader": faults.closed_output,
            "no folder for compiled code": faults.no_cache,
            "four cold starts at once": faults.cold_starts,
        }
        print("| fault | tried | lost or left behind |\n|---|---|---|")
        for name, fault in tries.items():
            tried, lost = fault()
            print(f"| {name} | {tried} | {'; '.join(lost) or 0} |", flush=True)
            n_lost += len(lost)
    return int(n_lost > 0)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
