"""Killed processes, full disks and odd files: nothing is lost or half written.

scripts/faults does this to whole commands.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest

from rawlsian._support import unfinished
from rawlsian._support.files import (
    OutputError,
    WriteError,
    check_outputs,
    write_folder,
    write_text,
    write_whole,
)

KILLED_WHILE_WRITING = """
import os, signal, sys
from rawlsian._support.files import write_folder, write_whole

def killed(path):
    (path / "part.parquet" if path.is_dir() else path).write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)

kind, path = sys.argv[1:]
if kind == "folder":
    write_folder(path, killed, may_replace=True)
else:
    write_whole(path, killed)
"""


def kill_while_writing(kind, path):
    """Write in a process that is killed on the way."""
    process = subprocess.run([sys.executable, "-c", KILLED_WHILE_WRITING, kind, path])
    assert process.returncode == -signal.SIGKILL


def whole_folder(folder):
    (folder / "part.parquet").write_text("new")


def test_a_killed_process_leaves_the_earlier_file_and_the_next_run_tidies_up(tmp_path):
    path = tmp_path / "labels.csv"
    write_text(path, "earlier")

    kill_while_writing("file", path)

    assert path.read_text() == "earlier"
    assert len(list(tmp_path.iterdir())) == 2
    write_text(path, "new")
    assert [each.read_text() for each in tmp_path.iterdir()] == ["new"]


def test_a_killed_process_leaves_the_earlier_folder(tmp_path):
    path = tmp_path / "labels"
    write_folder(str(path), whole_folder, may_replace=False)

    kill_while_writing("folder", path)

    assert (path / "part.parquet").read_text() == "new"
    write_folder(str(path), whole_folder, may_replace=True)
    assert os.listdir(tmp_path) == ["labels"]
    assert os.listdir(path) == ["part.parquet"]


def test_what_another_process_is_writing_is_left_alone(tmp_path):
    with unfinished.unfinished(tmp_path / "one.csv") as one:
        write_text(tmp_path / "two.csv", "two")

        assert one.exists()


def test_only_unfinished_files_are_taken_for_such(tmp_path):
    for name in (".rawlsian-notes", ".rawlsian-" + "g" * 16, ".hidden"):
        (tmp_path / name).touch()
    (tmp_path / (".rawlsian-" + "0" * 16)).symlink_to("nowhere")

    write_text(tmp_path / "labels.csv", "")

    assert len(os.listdir(tmp_path)) == 5


def test_a_folder_is_replaced_where_names_cannot_be_swapped(tmp_path, monkeypatch):
    monkeypatch.setattr(unfinished, "_swap", lambda *names: False)
    path = tmp_path / "labels"
    path.mkdir()
    (path / "old.parquet").touch()

    write_folder(str(path), whole_folder, may_replace=True)

    assert os.listdir(path) == ["part.parquet"]
    assert os.listdir(tmp_path) == ["labels"]


@contextmanager
def largest_file(n_bytes):
    """Let the system refuse larger files, as a full disk does."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_a_full_disk_leaves_the_earlier_file(tmp_path):
    path = tmp_path / "page.html"
    write_text(path, "earlier")

    with largest_file(100), pytest.raises(WriteError, match="could not be written"):
        write_text(path, "new" * 100)

    assert [each.read_text() for each in tmp_path.iterdir()] == ["earlier"]


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "link.csv").symlink_to("real.csv")

    write_text(tmp_path / "link.csv", "new")

    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text() == "new"


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_is_no_file_is_not_replaced(tmp_path, make):
    make(tmp_path / "labels.csv")

    with pytest.raises(OutputError, match=r"is a folder|is not a file"):
        check_outputs([str(tmp_path / "labels.csv")], may_replace=True)


def test_two_writers_of_one_file_each_write_it_whole(tmp_path):
    path = tmp_path / "labels.csv"

    def meanwhile(to):
        to.write_text("first")
        write_text(path, "second")
        assert path.read_text() == "second"

    write_whole(path, meanwhile)

    assert [each.read_text() for each in tmp_path.iterdir()] == ["first"]
