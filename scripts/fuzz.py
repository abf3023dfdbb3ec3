"""Give the command line hostile tables, models and centers until it fails.

    scripts/fuzz                   # without end; Ctrl-C prints the table
    scripts/fuzz 20000             # that many inputs
    scripts/fuzz 20000 --seed 7    # others
    scripts/fuzz --again 7 123     # input 123 of seed 7, with its output

Every outcome must be a result or one sentence: a traceback, an input that takes more
than 30 seconds of CPU, a formula or script in what is written, or a dialect that
changes the result is printed with its seed and number. tests/support/fuzzing.py makes
the inputs.
"""

from __future__ import annotations

import argparse
import faulthandler
import itertools
import resource
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

from support.commands import rawlsian
from support.fuzzing import Fuzzer

SECONDS = 30
# Beyond what Python and its libraries map at the start.
MOST_MEMORY = 6 * 2**30


class HangError(BaseException):
    """An input takes too long; no code that catches errors may catch this."""


def _hang(*_: object) -> None:
    raise HangError


def fuzz(n_inputs: int | None, seed: int, folder: Path) -> int:
    """Run inputs, print what is wrong and a table; return the number of faults."""
    fuzzer, counts, n_wrong, slowest = Fuzzer(folder), Counter[str](), 0, 0.0
    signal.signal(signal.SIGPROF, _hang)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    numbers = itertools.count() if n_inputs is None else range(n_inputs)
    try:
        for number in numbers:
            given, began = fuzzer.make(seed, number), time.perf_counter()
            # Code that never comes back to Python cannot be interrupted, only ended.
            faulthandler.dump_traceback_later(10 * SECONDS, exit=True)
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            try:
                way, wrong = fuzzer.run(given)
            except HangError:
                way, wrong = "hang", f"more than {SECONDS} s"
            signal.setitimer(signal.ITIMER_PROF, 0)
            counts[f"{given.kind} {way}"] += 1
            slowest = max(slowest, time.perf_counter() - began)
            if wrong is not None:
                n_wrong += 1
                said = wrong.replace(str(folder), "")
                print(f"seed {seed}, input {number} ({given.kind}): {said}", flush=True)
    except KeyboardInterrupt:
        print()
    faulthandler.cancel_dump_traceback_later()
    _print_table(counts)
    print(
        f"\n{counts.total():,} inputs of seed {seed}, {n_wrong} wrong, slowest "
        f"{slowest:.1f} s"
    )
    return n_wrong


def _print_table(counts: Counter[str]) -> None:
    ways = ("result", "sentence", "traceback", "hang")
    print(f"| input | {' | '.join(ways)} |\n|---|{'---|' * len(ways)}")
    for kind in sorted({name.split()[0] for name in counts}):
        cells = (f"{counts[f'{kind} {way}']:,}" for way in ways)
        print(f"| {kind} | {' | '.join(cells)} |")


def again(seed: int, number: int, folder: Path) -> int:
    """Run one input and print all of its output."""
    given = Fuzzer(folder).make(seed, number)
    print(given.kind, *map(repr, given.arguments))
    done = rawlsian(*given.arguments, *["--debug"] * (given.arguments[0] != "study"))
    print(done.stdout, done.stderr, done.exit_code)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return int(done.exit_code)


def main() -> int:
    """Parse the arguments, and fuzz."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("n_inputs", type=int, nargs="?")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--again", type=int, nargs=2, metavar=("SEED", "NUMBER"))
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        if given.again is not None:
            return again(*given.again, Path(folder))
        return int(fuzz(given.n_inputs, given.seed, Path(folder)) > 0)


if __name__ == "__main__":
    sys.exit(main())
