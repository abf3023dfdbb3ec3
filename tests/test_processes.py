"""Jobs in processes of their own, and on threads."""

from __future__ import annotations

import math
import os
import signal

import pytest

from rawlsian._support import jobs
from rawlsian._support.processes import Processes, serve
from rawlsian._support.threads import run_in_chunks
from support.endless import endless_after_the_first


@pytest.fixture
def two():
    with Processes(2) as processes:
        yield processes


def test_results_come_in_the_order_of_the_items(two):
    numbers = list(range(-20, 20))

    for _ in range(2):
        assert list(two.map(abs, numbers)) == [abs(number) for number in numbers]


def test_what_a_job_prints_is_not_taken_for_its_result(two):
    assert list(two.map(print, ["hello", "there"])) == [None, None]


def test_an_error_is_raised_here_and_says_where_it_was(two):
    with pytest.raises(ValueError, match="math domain error") as error:
        list(two.map(math.sqrt, [1, -1]))

    assert "Traceback" in error.value.__notes__[0]


def test_ctrl_c_in_a_terminal_ends_no_process(two):
    # It reaches all processes of the terminal.
    assert list(two.map(signal.raise_signal, [signal.SIGINT] * 2)) == [None, None]


def test_a_process_that_is_killed_is_one_sentence(two):
    killed = "A process ended before its job was done. It may have run out of memory"

    with pytest.raises(RuntimeError, match=killed):
        list(two.map(signal.raise_signal, [signal.SIGKILL]))


@pytest.mark.parametrize("size", [1, 1_000_000])
def test_leaving_waits_neither_for_jobs_nor_for_a_process_to_read_them(size):
    # A pipe holds 64 kB: of a large job that nobody reads, most is never written.
    with Processes(2) as processes:
        pids = [process._process.pid for process in processes._processes]
        items = [(place, bytes(size)) for place in range(6)]
        assert next(processes.map(endless_after_the_first, items)) == 0

    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


class Connection:
    """Two jobs, and then nobody at the other end."""

    def __init__(self):
        self.jobs, self.answers = [(math.sqrt, 9), (abs, -2)], []

    def recv(self):
        if not self.jobs:
            raise EOFError
        return self.jobs.pop(0)

    def send(self, answer):
        self.answers.append(answer)


def test_a_process_ends_when_there_is_nobody_to_serve():
    connection = Connection()

    serve(connection)

    assert connection.answers == [(3.0, None), (2, None)]


def test_few_jobs_and_a_single_core_need_no_process(monkeypatch):
    for n_threads, n_items in ((2, 5), (1, 100)):
        monkeypatch.setenv("NUMBA_NUM_THREADS", str(n_threads))
        with jobs.in_processes(n_items) as run:
            assert list(run(abs, [-1, -2])) == [1, 2]
            assert not isinstance(getattr(run, "__self__", None), Processes)


def test_ctrl_c_waits_until_all_threads_are_done(monkeypatch):
    monkeypatch.setenv("NUMBA_NUM_THREADS", "3")
    finished = []

    def stop(start, end):
        signal.raise_signal(signal.SIGINT)
        finished.append((start, end))

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            run_in_chunks(stop, 30, smallest_chunk=10)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)

    assert sorted(finished) == [(0, 10), (10, 20), (20, 30)]
