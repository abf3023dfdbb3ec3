"""Hostile tables, models and files of centers, and what the command line makes of them.

Input ``number`` of a ``seed`` is always the same. Every outcome must be a result that
can be checked, or one sentence.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import shutil
import zipfile
from collections.abc import Callable
from copy import deepcopy
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rawlsian._tables.write import FORMULA_STARTS, as_cell
from rawlsian.cli.common import STOPPED
from support.commands import rawlsian

N_PEOPLE = 24
LONGEST_SENTENCE = 1_500
MARKER = "<script>alert(1)</script>"

CELLS = (
    "", " ", "NA", "nan", "inf", "-inf", "1e999", "-0", "1e-320", "0x10", "1_000",
    "1,5", "12%", "1 000", "9" * 400, "1" + "0" * 30, "-1", "+1", ".5", "5.", "1e5",
    "true", "2024-01-01", "01/02/2024", "12:30", "=1+1", '=HYPERLINK("x")', "@SUM(A1)",
    "+cmd|' /C calc'!A0", "-2+3", "\t=1", MARKER, '"><img src=x onerror=alert(1)>',
    "&lt;", "</script>", "\u202eabc", "\u200b", "\ufeff", "\u0000", "\x1b[31mred",
    "é", "e\u0301", "日本", "\U0001f600", "\ud7ff", "a\nb", 'a"b', "a,b", "a;b", "'",
    "\\", "{}", "[]", "null", "None", "x" * 10_000, "[bold]x[/bold]", ":smile:",
)  # fmt: skip
NAMES = (*CELLS, "a", "A", "row", "cluster", "not_clustered", "sex", "segment", "id",
         "unnamed 1", "0", "age=1", "age (2)")  # fmt: skip
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "latin-1",
             "cp1252", "utf-32", "shift_jis")  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 1e308, 10**400, "", "x", [], {}, [[]], [None], {"a": 1}, "1",
    float("nan"), float("inf"), [[[1.0]]], "NaN", -0.0, [1, 2, 3], [1e308] * 3,
)  # fmt: skip


class Input(NamedTuple):
    """A command, the kind of its hostile file, and the check of its result."""

    kind: str
    arguments: list[str]
    check: Callable[[dict[str, Any]], str | None]


def accept(_: dict[str, Any]) -> str | None:
    """Accept any result."""
    return None


class Fuzzer:
    """Makes inputs in a folder, and runs them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.people = _people()
        self.plain = folder / "plain.csv"
        self.plain.write_bytes(_csv(self.people))
        pq.write_table(_arrow(self.people), folder / "plain.parquet")
        done = rawlsian(
            "fit", self.plain, "--sensitive", "sex", "--clusters", 2, "--drop",
            "segment", "--save", folder / "plain.json", "--out", folder / "fitted.csv",
            "--method", "kmeans-free",
        )  # fmt: skip
        assert done.exit_code == 0, done.stderr
        self.model = json.loads((folder / "plain.json").read_text())
        self.audited = self._audit(self.plain)

    def _audit(self, path: Path) -> dict[str, Any]:
        done = rawlsian("audit", path, *AUDIT)
        assert done.exit_code == 0, done.stderr
        return without_source(json.loads(done.stdout))

    def make(self, seed: int, number: int) -> Input:
        """Make an input: kinds take turns."""
        rng = np.random.default_rng([seed, number])
        kinds = (self._bytes, self._structure, self._dialect, self._parquet,
                 self._drift, self._model, self._centers)  # fmt: skip
        return kinds[number % len(kinds)](rng)

    def run(self, given: Input) -> tuple[str, str | None]:
        """Run an input; return "result" or "sentence", and what is wrong or None."""
        done = rawlsian(*given.arguments)
        error = done.exception
        if error is not None and not isinstance(error, SystemExit):
            return "traceback", f"{type(error).__name__}: {error!s:.300}"
        if done.exit_code == STOPPED:
            raise KeyboardInterrupt
        if done.exit_code != 0:
            return "sentence", _wrong_sentence(done.exit_code, done.stderr)
        wrong = None
        if "--json" in given.arguments:
            try:
                wrong = given.check(json.loads(done.stdout))
            except ValueError:
                wrong = f"no JSON: {done.stdout[:200]!r}"
        return "result", wrong or self._wrong_files()

    def _wrong_files(self) -> str | None:
        """Return what a spreadsheet or a browser would run of the files written."""
        labels, page = self.folder / "out.csv", self.folder / "out.html"
        if labels.exists():
            with labels.open(newline="", encoding="utf-8") as stream:
                for cell in (cell for row in csv.reader(stream) for cell in row):
                    if cell.startswith(FORMULA_STARTS) and as_cell(cell) != cell:
                        return f"a formula was written: {cell!r:.80}"
        if page.exists() and MARKER in page.read_text(encoding="utf-8"):
            return "a script was written into the page"
        return None

    # --- Kinds ----------------------------------------------------------------------

    def _command(self, rng: np.random.Generator, path: Path) -> list[str]:
        """Return a command that reads a table; most are audits, which are quick."""
        for name in ("out.csv", "out.html"):
            (self.folder / name).unlink(missing_ok=True)
        missing = ["--missing", str(rng.choice(["error", "drop"]))]
        which = rng.random()
        if which < 0.6:
            report = ["--report", str(self.folder / "out.html")]
            return ["audit", str(path), *AUDIT, *missing, *(report * (which < 0.002))]
        if which < 0.9:
            return ["predict", str(self.folder / "plain.json"), str(path),
                    "--out", str(self.folder / "out.csv"), "--unknown", "ignore",
                    "--force", *missing]  # fmt: skip
        return ["fit", str(path), "--sensitive", "sex", "--clusters", "2", "--json",
                "--method", "fair-lloyd", "--out", str(self.folder / "out.csv"),
                "--force", *missing]  # fmt: skip

    def _input(
        self, rng: np.random.Generator, kind: str, name: str, content: bytes
    ) -> Input:
        path = self.folder / name
        path.write_bytes(content)
        return Input(kind, self._command(rng, path), accept)

    def _bytes(self, rng: np.random.Generator) -> Input:
        """Damage the bytes of a good file."""
        sources = [
            self.plain.read_bytes(),
            (self.folder / "plain.parquet").read_bytes(),
        ]
        content = packed(rng, sources[rng.integers(2)])
        return self._input(rng, "bytes", "table.csv", damaged(rng, content))

    def _structure(self, rng: np.random.Generator) -> Input:
        """Write odd cells and names, ragged rows and open quotes."""
        header, *rows = ([*row] for row in self.people)
        for _ in range(rng.integers(1, 6)):
            if rng.random() < 0.3:
                header[rng.integers(len(header))] = _any(rng, NAMES)
            else:
                row = rows[rng.integers(len(rows))]
                row[rng.integers(len(row))] = _any(rng, CELLS)
        if rng.random() < 0.2:
            row = rows[rng.integers(len(rows))]
            row[:] = row[: rng.integers(len(row))] if rng.random() < 0.5 else row * 2
        if rng.random() < 0.2:
            name, value = _any(rng, NAMES), _any(rng, CELLS)
            header.append(name)
            for row in rows:
                row.append(value)
        if rng.random() < 0.1:
            del rows[rng.integers(len(rows)) :]
        if rng.random() < 0.01:
            wide = int(rng.choice([2_000, 100_000]))
            header += [f"c{j}" for j in range(wide)]
            rows = [row + ["1"] * wide for row in rows]
        text = _csv([header, *rows], bool(rng.random() < 0.2))
        if rng.random() < 0.1:
            place = rng.integers(len(text))
            text = text[:place] + b'"' + text[place:]
        encoding = str(_any(rng, ENCODINGS)) if rng.random() < 0.2 else "utf-8"
        text = text.decode(errors="replace").encode(encoding, "replace")
        given = self._input(rng, "structure", "table.csv", text)
        if rng.random() < 0.2:
            given.arguments.extend(["--encoding", str(_any(rng, ENCODINGS))])
        if rng.random() < 0.1:
            given.arguments.extend(["--na", _any(rng, CELLS).replace("\0", "")])
        return given

    def _dialect(self, rng: np.random.Generator) -> Input:
        """Write the same people in another way, which must not change the result."""
        delimiter, line = (
            str(rng.choice(list(",;\t|"))),
            str(rng.choice(["\n", "\r\n"])),
        )
        text = _csv(self.people, bool(rng.random() < 0.5), delimiter, line).decode()
        encoding = str(rng.choice(["utf-8", "utf-8-sig", "utf-16", "latin-1"]))
        path = self.folder / "dialect.csv"
        path.write_bytes(packed(rng, text.encode(encoding)))
        arguments = ["audit", str(path), *AUDIT]
        if encoding == "latin-1":
            arguments += ["--encoding", encoding]

        def same(found: dict[str, Any]) -> str | None:
            is_same = without_source(found) == self.audited
            return None if is_same else "the same people give another audit"

        return Input("dialect", arguments, same)

    def _parquet(self, rng: np.random.Generator) -> Input:
        """Give columns other types."""
        table = _arrow(self.people)
        for _ in range(rng.integers(1, 4)):
            place = int(rng.integers(table.num_columns))
            name = table.column_names[place]
            if rng.random() < 0.3:
                name = _any(rng, NAMES)
            column = typed_column(rng, table.num_rows)
            table = table.set_column(place, name, column)
        if rng.random() < 0.1:
            table = table.slice(0, int(rng.integers(3)))
        path = self.folder / "table.parquet"
        try:
            pq.write_table(table, path)
        except (pa.ArrowException, UnicodeError):  # a type that Parquet cannot hold
            pq.write_table(_arrow(self.people), path)
        return Input("parquet", self._command(rng, path), accept)

    def _drift(self, rng: np.random.Generator) -> Input:
        """Write parts whose schemas differ; read them in blocks."""
        folder = self.folder / "parts"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for j in range(2):
            table = _arrow(self.people)
            way = rng.random() if j else 1.0
            place = int(rng.integers(table.num_columns))
            if way < 0.3:
                table = table.remove_column(place)
            elif way < 0.7:
                column = typed_column(rng, table.num_rows)
                table = table.set_column(place, table.column_names[place], column)
            elif way < 0.8:
                table = table.slice(0, 0)
            pq.write_table(table, folder / f"{j}.parquet")
            if way > 0.9 and j:
                content = (folder / f"{j}.parquet").read_bytes()
                (folder / f"{j}.parquet").write_bytes(damaged(rng, content))
        return Input("drift", ["audit", str(folder), *AUDIT], accept)

    def _model(self, rng: np.random.Generator) -> Input:
        """Change values of a model, or damage its file."""
        path, model = self.folder / "model.json", json.loads(json.dumps(self.model))
        for _ in range(rng.integers(1, 4)):
            _replace_one(rng, model)
        if rng.random() < 0.05:
            model["centers"] = deep(int(rng.choice([50, 5_000, 100_000])))
        text = model if isinstance(model, str) else _json(model)
        content = text.encode("utf-8", "replace")
        if rng.random() < 0.2:
            content = damaged(rng, content)
        path.write_bytes(content)
        if rng.random() < 0.5:
            return Input("model", ["predict", str(path), str(self.plain), "--force",
                                   "--out", str(self.folder / "out.csv")],
                         accept)  # fmt: skip
        return Input(
            "model", ["audit", str(self.plain), "--sensitive", "sex", "--centers",
                      str(path), "--json"], accept,
        )  # fmt: skip

    def _centers(self, rng: np.random.Generator) -> Input:
        """Damage a file of centers."""
        path = self.folder / "centers.csv"
        rows = list(csv.reader(io.StringIO(
            (self.folder / "fitted.centers.csv").read_text()
        )))  # fmt: skip
        for _ in range(rng.integers(1, 4)):
            row = rows[0 if rng.random() < 0.1 else rng.integers(1, len(rows))]
            row[rng.integers(len(row))] = _any(rng, CELLS)
        content = _csv(rows)
        if rng.random() < 0.2:
            content = damaged(rng, content)
        path.write_bytes(content)
        return Input(
            "centers", ["audit", str(self.plain), "--sensitive", "sex", "--centers",
                        str(path), "--drop", "segment", "--json"], accept,
        )  # fmt: skip


AUDIT = ("--sensitive", "sex", "--labels", "segment", "--min-group", "5", "--json")


def without_source(found: dict[str, Any]) -> dict[str, Any]:
    """Return an audit without how its table was written."""
    return {key: value for key, value in found.items() if key != "remarks"}


def _wrong_sentence(code: int, errors: str) -> str | None:
    """Return what is wrong with an error, or None."""
    lines = errors.strip().splitlines()
    if code not in (1, 2) or len(lines) != 1 or not lines[0].startswith("Error: "):
        return f"exit code {code}: {errors[:500]!r}"
    if "should not happen" in errors or "not enough memory" in errors:
        return errors[:500]
    return (
        f"a long sentence: {errors[:200]}" if len(errors) > LONGEST_SENTENCE else None
    )


# --- Contents -------------------------------------------------------------------------


def _people() -> list[list[str]]:
    """Return a header and rows: names, numbers, categories, groups, clusters."""
    rng = np.random.default_rng(0)
    rows = [
        [f"p{j}", str(20 + int(rng.integers(40))), f"{rng.normal():.3f}",
         str(rng.choice(["cook", "clerk", "café"])), "fm"[j % 2], "AB"[j // 12]]
        for j in range(N_PEOPLE)
    ]  # fmt: skip
    return [["id", "age", "score", "job", "sex", "segment"], *rows]


def _arrow(rows: list[list[str]]) -> pa.Table:
    columns = dict(zip(rows[0], zip(*rows[1:], strict=True), strict=True))
    table = pa.table({name: list(values) for name, values in columns.items()})
    for name, kind in (("age", pa.int64()), ("score", pa.float64())):
        place = table.column_names.index(name)
        table = table.set_column(place, name, table.column(place).cast(kind))
    return table


def _csv(
    rows: list[list[str]], quoted: bool = False, delimiter: str = ",", line: str = "\n"
) -> bytes:
    text = io.StringIO()
    writer = csv.writer(
        text, delimiter=delimiter, lineterminator=line,
        quoting=csv.QUOTE_ALL if quoted else csv.QUOTE_MINIMAL,
    )  # fmt: skip
    writer.writerows(rows)
    return text.getvalue().encode("utf-8", "replace")


def packed(rng: np.random.Generator, content: bytes) -> bytes:
    """Compress a file in one of the ways that are read, or not at all."""
    ways: list[Callable[[bytes], bytes]] = [
        bytes, bytes, gzip.compress, bz2.compress, lzma.compress, _zip, _zstd,
    ]  # fmt: skip
    return ways[rng.integers(len(ways))](content)


def _zip(content: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("table.csv", content)
    return stream.getvalue()


def _zstd(content: bytes) -> bytes:
    return bytes(pa.compress(content, "zstd", asbytes=True))


def damaged(rng: np.random.Generator, content: bytes) -> bytes:
    """Flip, delete, repeat or insert bytes, or cut the file."""
    found = bytearray(content)
    for _ in range(rng.integers(1, 5)):
        if not found:
            break
        start = int(rng.integers(len(found)))
        stop = start + int(rng.integers(1, 20))
        way = rng.integers(5)
        if way == 0:
            found[start] = int(rng.integers(256))
        elif way == 1:
            del found[start:stop]
        elif way == 2:
            found[start:start] = found[start:stop] * int(rng.integers(1, 30))
        elif way == 3:
            found[start:start] = rng.bytes(int(rng.integers(1, 20)))
        elif rng.random() < 0.3:
            del found[start:]
    return bytes(found)


def typed_column(rng: np.random.Generator, n: int) -> Any:
    """Return a column of one of many Arrow types, with some values missing."""
    columns: list[tuple[pa.DataType, Callable[[int], Any]]] = [
        (pa.int8(), int), (pa.uint64(), lambda j: 2**64 - 1 - j),
        (pa.int64(), lambda j: -(2**63) + j), (pa.float16(), np.float16),
        (pa.float32(), lambda j: [1.0, float("nan"), float("inf"), 1e-40][j % 4]),
        (pa.float64(), lambda j: [0.0, -0.0, 1e308, float("nan")][j % 4]),
        (pa.float64(), lambda j: 1e308 * (-1) ** j), (pa.bool_(), bool),
        (pa.decimal128(38, 2), lambda j: Decimal(j) / 4),
        (pa.decimal256(76, 0), lambda j: Decimal(10**70 + j)),
        (pa.date32(), lambda j: date(2024, 1, 1 + j % 28)),
        (pa.timestamp("ns", "UTC"), lambda j: datetime(2024, 1, 1 + j % 28)),
        (pa.time64("us"), lambda j: time(j % 24)),
        (pa.duration("s"), lambda j: timedelta(seconds=j)),
        (pa.binary(), lambda j: bytes([j, 255])), (pa.null(), lambda j: None),
        (pa.list_(pa.int64()), lambda j: [j] * (j % 3)),
        (pa.struct({"a": pa.int64()}), lambda j: {"a": j}),
        (pa.map_(pa.string(), pa.int64()), lambda j: [("a", j)]),
        (pa.large_string(), lambda j: CELLS[j % len(CELLS)]),
        (pa.string(), lambda j: CELLS[(7 * j) % len(CELLS)]),
        (pa.dictionary(pa.int8(), pa.string()), lambda j: "xyz"[j % 3]),
        (pa.dictionary(pa.int32(), pa.int64()), lambda j: j % 3),
        (pa.string(), lambda j: "fm"[j % 2]), (pa.string(), str),
    ]  # fmt: skip
    kind, value = columns[rng.integers(len(columns))]
    is_missing = rng.random(n) < rng.choice([0.0, 0.1, 1.0], p=[0.7, 0.25, 0.05])
    values = [None if is_missing[j] else value(j) for j in range(n)]
    return pa.array(values, kind)


def deep(depth: int) -> Any:
    """Return JSON of lists in lists, as text: Python could not write it."""
    return _Raw("[" * depth + "]" * depth)


class _Raw(str):
    """JSON as text."""


def _json(model: dict[str, Any]) -> str:
    """Write a model; raw texts are put in as they are."""
    raw = {str(j): v for j, v in enumerate(model.values()) if isinstance(v, _Raw)}
    marked = {
        key: f"raw-{j}" if isinstance(value, _Raw) else value
        for j, (key, value) in enumerate(model.items())
    }
    text = json.dumps(marked)
    for j, value in raw.items():
        text = text.replace(f'"raw-{j}"', value)
    return text


def _replace_one(rng: np.random.Generator, model: Any) -> None:
    """Replace, delete or repeat a value somewhere in nested JSON."""
    at = model
    while True:
        keys = list(at) if isinstance(at, dict) else list(range(len(at)))
        if not keys:
            return
        key = keys[rng.integers(len(keys))]
        if isinstance(at[key], dict | list) and at[key] and rng.random() < 0.9:
            at = at[key]
            continue
        way = rng.random()
        if way < 0.15:
            del at[key]
        elif way < 0.25 and isinstance(at, list):
            at.append(deepcopy(at[key]))
        else:
            at[key] = deepcopy(_any(rng, VALUES))
        return


def _any(rng: np.random.Generator, among: tuple[Any, ...]) -> Any:
    return among[rng.integers(len(among))]
