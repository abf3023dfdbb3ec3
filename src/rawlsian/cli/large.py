"""``fit`` and ``audit`` of a table in parts, whose rows are never all in memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from rawlsian.cli.common import Reading, Screen, choose

if TYPE_CHECKING:
    from rawlsian._tables.analysis import Outcome
    from rawlsian._tables.columns import Roles
    from rawlsian._tables.engines import Engine
    from rawlsian._tables.large import LargeTable
    from rawlsian._tables.pages import Facts
    from rawlsian._tables.parts import Parts, Piece
    from rawlsian._tables.survey import Decided, Encoding, Survey
    from rawlsian.metrics import Audit

ENGINES = ("auto", "memory", "blocks", "dask")


def chosen_engine(engine: str, table: str, scheduler: str | None) -> str:
    """The engine that was asked for, or that goes with the table."""
    from rawlsian._tables.errors import WrongUseError
    from rawlsian._tables.parts import is_in_parts

    choose(engine, "--engine", ENGINES)
    if engine == "auto":
        engine = "blocks" if is_in_parts(table) else "memory"
    if scheduler is not None and engine != "dask":
        raise WrongUseError(
            f"--scheduler {scheduler!r} goes with --engine dask; say that, too, or "
            "leave it out."
        )
    if engine == "memory" and is_in_parts(table):
        raise WrongUseError(
            f"--engine memory reads one file, but {table!r} is a folder or a pattern; "
            "name a file, or say --engine blocks."
        )
    return engine


def needs_memory(option: str, engine: str, instead: str) -> Exception:
    """Why an option cannot be had of rows that are not all in memory."""
    from rawlsian._tables.errors import WrongUseError

    return WrongUseError(
        f"{option} needs all rows in memory; with --engine {engine} {instead}."
    )


class InParts(NamedTuple):
    """A table in parts: how it is read, what its columns are, and who works on it."""

    reading: Reading
    roles: Roles
    missing: str
    engine: str
    scheduler: str | None

    def find(self) -> list[str]:
        """The files."""
        from rawlsian._tables.errors import WrongUseError
        from rawlsian._tables.parts import find_parts

        if self.reading.delimiter is not None or self.reading.encoding != "utf-8":
            raise WrongUseError(
                "--delimiter and --encoding are of text; a table in parts is Parquet, "
                "which needs neither."
            )
        return find_parts(self.reading.table)

    @contextmanager
    def opened(self, paths: list[str], screen: Screen) -> Iterator[OpenedParts]:
        """Look into the files, start what works on them, and encode them."""
        from rawlsian._tables import parts as _parts, survey as _survey
        from rawlsian._tables.read import MISSING_TEXTS

        screen.tell("reading")
        texts = MISSING_TEXTS.union(self.reading.na)
        parts = _parts.open_parts(paths, texts, self.roles.drop)
        decided = _survey.decide(parts, self.roles, self.missing, texts)
        with self._engine(screen) as engine:
            yield _encoded(self, parts, decided, engine, screen)

    @contextmanager
    def _engine(self, screen: Screen) -> Iterator[Engine]:
        from rawlsian._tables.engines import dask_engine, local_engine

        if self.engine == "dask":
            screen.tell("starting Dask")
        with (
            local_engine() if self.engine == "blocks" else dask_engine(self.scheduler)
        ) as engine:
            yield engine


class OpenedParts(NamedTuple):
    """The encoded rows of all parts, and how they came about."""

    parts: Parts
    pieces: list[Piece]
    decided: Decided
    found: Survey
    engine: Engine
    table: LargeTable
    name: str

    @property
    def encoding(self) -> Encoding:
        """How rows were encoded."""
        return self.table.encoding

    @property
    def facts(self) -> Facts:
        """What is told of the table."""
        from rawlsian._tables.pages import Facts, Reason
        from rawlsian._tables.survey import remarks_of

        first_rows = self.parts.first_rows
        return Facts(
            self.name,
            self.parts.n_rows,
            len(first_rows.columns),
            first_rows.how,
            self.encoding.features,
            self.decided.unused,
            [
                Reason(reason, each.n_rows, each.first_row, each.path)
                for reason, each in self.found.left_out.items()
            ],
            remarks_of(self.found, self.encoding, self.parts),
        )


def _encoded(
    asked: InParts, parts: Parts, decided: Decided, engine: Engine, screen: Screen
) -> OpenedParts:
    """One pass to learn what the columns hold, and another to encode them."""
    from rawlsian._tables import survey as _survey
    from rawlsian._tables.large import LargeTable

    pieces = parts.pieces()
    learnt = engine.run(_survey.survey_piece, pieces, decided.plan)
    found = _survey.survey(
        pieces,
        learnt,
        asked.roles,
        lambda done: screen.tell("reading", done, len(pieces)),
    )
    encoding = _survey.encoding_of(found, decided, parts.n_rows)
    screen.tell("encoding")
    some = [piece for piece, n in zip(pieces, found.lengths, strict=True) if n]
    lengths = [n for n in found.lengths if n]
    table = LargeTable(engine.encode(some, lengths, encoding), encoding)
    name = asked.reading.table
    return OpenedParts(parts, pieces, decided, found, engine, table, name)


# --- fit -----------------------------------------------------------------------------


class Passes(NamedTuple):
    """How the rows were gone over."""

    engine: str
    n_rows: int
    n_parts: int
    n_passes: int

    @property
    def sentence(self) -> str:
        """The same in words."""
        from rawlsian._outofcore.problem import LEAST_SEARCHED

        searched = ""
        if self.n_rows > LEAST_SEARCHED:
            searched = "; clusters were searched on a sample, and finished on all rows"
        parts = f"{self.n_parts:,} part{'s' if self.n_parts > 1 else ''}"
        return (
            f"{self.n_rows:,} rows in {parts} were gone over {self.n_passes} times"
            f"{searched}."
        )

    def as_json(self) -> dict[str, Any]:
        """The same for machines."""
        return {"engine": self.engine, "passes": self.n_passes}


class LargeOutputs(NamedTuple):
    """What is written: a folder of labels, a model, or both."""

    labels: str | None
    model: str | None
    may_replace: bool

    def check(self, inputs: list[str]) -> None:
        """Refuse, before any work is done, what could not be written."""
        from rawlsian._support.files import check_folder, check_outputs
        from rawlsian._tables.folder import check_is_folder
        from rawlsian._tables.write import check_ending

        check_ending(self.model, "--save", (".json",))
        check_outputs([self.model], inputs=inputs, may_replace=self.may_replace)
        if self.labels is not None:
            check_is_folder(self.labels)
            check_folder(self.labels, inputs=inputs, may_replace=self.may_replace)


class LargeFit(NamedTuple):
    """What is told of a fit."""

    facts: Facts
    outcome: Outcome
    passes: Passes


def fit_parts(
    asked: InParts,
    n_clusters: int,
    method: str,
    seed: int,
    outputs: LargeOutputs,
    screen: Screen,
    written: list[str],
) -> LargeFit:
    """Cluster a table in parts, and write what is asked for."""
    from rawlsian._support.files import write_folder
    from rawlsian._tables import large as _large
    from rawlsian._tables.folder import LabelledPieces
    from rawlsian._tables.model import Model

    paths = asked.find()
    outputs.check(paths)
    with asked.opened(paths, screen) as opened:
        n_rows = sum(opened.found.lengths)
        _large.check_clusters(n_clusters, n_rows)
        fitted = _large.fit(opened.table, n_clusters, method, seed, screen.tell)
        if outputs.labels is not None:
            screen.tell("writing labels")
            labelled = LabelledPieces(
                opened.parts, opened.pieces, opened.found.lengths, opened.decided,
                fitted.labels, opened.engine,
            )  # fmt: skip
            write_folder(
                outputs.labels, labelled.write, may_replace=outputs.may_replace
            )
            written.append(outputs.labels)
        encoding = opened.encoding
        if outputs.model is not None:
            Model(
                encoding.features, fitted.centers, asked.roles.sensitive,
                encoding.max_distance, method, opened.decided.identifier,
            ).save(outputs.model)  # fmt: skip
            written.append(outputs.model)
        passes = Passes(asked.engine, n_rows, len(paths), fitted.n_passes)
        return LargeFit(opened.facts, fitted.outcome, passes)


# --- audit ---------------------------------------------------------------------------


class LargeAudit(NamedTuple):
    """What is told of an audit."""

    facts: Facts
    result: Audit
    clusters: list[str]


def audit_parts(asked: InParts, screen: Screen) -> LargeAudit:
    """Tell how well the clusters of a table in parts serve each group."""
    from dataclasses import replace

    import numpy as np

    with asked.opened(asked.find(), screen) as opened:
        screen.tell("auditing")
        result = opened.table.audit(opened.table.rows.labels)
        names = np.array(opened.encoding.group_names, object)
        result = replace(result, groups=names)
        return LargeAudit(opened.facts, result, opened.encoding.clusters)
