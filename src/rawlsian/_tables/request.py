"""Arguments of the table functions: checked, and in one form."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from operator import index
from pathlib import Path
from typing import Any, NamedTuple

from rawlsian._core.parameters import PoolingStrength, check_pooling
from rawlsian._tables.choosing_k import CRITERIA, ChooseBy
from rawlsian._tables.column import MISSING_TEXTS, Table
from rawlsian._tables.columns import Roles
from rawlsian._tables.errors import WrongUseError
from rawlsian._tables.model import Model
from rawlsian._tables.names import as_names
from rawlsian._tables.parts import find_parts, is_in_parts
from rawlsian._tables.read import (
    STANDARD_INPUT,
    check_frame,
    read_frame,
    read_table,
)
from rawlsian._tables.specs import GivenSpecs
from rawlsian.preprocessing.features import Feature
from rawlsian.preprocessing.reading import AS_IT_IS

ENGINES = ("auto", "memory", "blocks", "dask")
# Of pyarrow, of polars, of pandas.
FRAME_MARKS = ("__arrow_c_stream__", "to_arrow", "iloc")


class TableSource(NamedTuple):
    """Where a table is, a path or a table in memory, and how it is read."""

    path: str | None
    frame: Any
    delimiter: str | None
    encoding: str
    na: tuple[str, ...]
    sheet: str | None = None
    header_row: int | None = None

    @classmethod
    def given(
        cls,
        table: Any,
        delimiter: str | None,
        encoding: str,
        na: str | Iterable[str],
        sheet: str | None = None,
        header_row: int | None = None,
    ) -> TableSource:
        """Take a path, or a pandas, polars or pyarrow table."""
        _check_header_row(header_row)
        if isinstance(table, (str, os.PathLike)):
            return cls(
                os.fspath(table), None, delimiter, encoding, as_names(na, "--na"),
                sheet, header_row,
            )  # fmt: skip
        check_frame(table)
        if not _is_frame(table):
            kind = type(table).__name__
            raise WrongUseError(
                "table must be the path of a file or a pandas, polars or pyarrow "
                f"table, got {kind}"
                f"{'; call .collect() first' if kind == 'LazyFrame' else ''}."
            )
        found = cls(
            None, table, delimiter, encoding, as_names(na, "--na"), sheet, header_row
        )
        found.refuse_text_options("a table in memory")
        return found

    def refuse_text_options(self, table: str) -> None:
        """Raise if options are given that do not go with such a table."""
        if self.delimiter is not None or self.encoding != "utf-8":
            raise WrongUseError(
                f"--delimiter and --encoding are for text files, not for {table}."
            )
        if self.sheet is not None or self.header_row is not None:
            raise WrongUseError(
                f"--sheet and --header-row are for files of text or Excel, not for "
                f"{table}."
            )

    @property
    def name(self) -> str:
        """Name of the table on a page."""
        if self.path is None:
            return "table"
        return "standard input" if self.path == STANDARD_INPUT else Path(self.path).name

    @property
    def missing_texts(self) -> frozenset[str]:
        """Texts that mean missing."""
        return MISSING_TEXTS.union(self.na)

    def engine(self, engine: str, scheduler: str | None) -> str:
        """Return the engine that was asked for, or that goes with the table."""
        check_choice(engine, "--engine", ENGINES)
        in_parts = self.path is not None and is_in_parts(self.path)
        if engine == "auto":
            engine = "blocks" if in_parts else "memory"
        if scheduler is not None and engine != "dask":
            raise WrongUseError(
                f"--scheduler {scheduler!r} goes with --engine dask; say that, too, or "
                "leave it out."
            )
        if engine == "memory" and in_parts:
            raise WrongUseError(
                f"--engine memory reads one file, but {self.path!r} is a folder or a "
                "pattern; name a file, or say --engine blocks."
            )
        if engine != "memory" and self.path is None:
            raise WrongUseError(
                f"--engine {engine} reads Parquet files, but the table is in memory; "
                "name its files, or leave --engine out."
            )
        return engine

    def files(self, engine: str) -> list[str]:
        """Return the files that are read."""
        if self.path is None:
            return []
        if engine == "memory":
            return [self.path]
        self.refuse_text_options("a table in parts, which is Parquet")
        return find_parts(self.path)

    def read(self) -> Table:
        """Read all rows into memory."""
        if self.path is None:
            return read_frame(self.frame, self.na)
        return read_table(
            self.path,
            delimiter="\t" if self.delimiter in ("\\t", "tab") else self.delimiter,
            encoding=self.encoding,
            missing_texts=self.na,
            sheet=self.sheet,
            header_row=self.header_row,
        )


class TableRequest(NamedTuple):
    """A table to be clustered or audited: source, columns, options for them, engine.

    Names in ``roles`` and ``specs`` are as they were given, before the table is known.
    ``model`` is one whose encoding applies; None learns it.
    """

    source: TableSource
    roles: Roles
    specs: GivenSpecs
    engine: str
    scheduler: str | None
    model: Model | None = None

    @classmethod
    def given(
        cls,
        table: Any,
        sensitive: str | Iterable[str],
        *,
        labels: str | None = None,
        labels_option: str = "--labels",
        columns: str | Iterable[str] = (),
        drop: str | Iterable[str] = (),
        categorical: str | Iterable[str] = (),
        numeric: str | Iterable[str] = (),
        ordinal: Any = (),
        bins: Any = (),
        fold: str | Iterable[str] = (),
        scale: Any = (),
        decimal: Any = None,
        weight: str | None = None,
        use_sensitive: bool = False,
        id: str | None = None,
        missing: Any = (),
        na: str | Iterable[str] = (),
        sheet: str | None = None,
        header_row: int | None = None,
        delimiter: str | None = None,
        encoding: str = "utf-8",
        engine: str = "auto",
        scheduler: str | None = None,
    ) -> TableRequest:
        """Check the options that ``fit_table`` and ``audit_table`` share."""
        check_id(id)
        if weight is not None:
            _check_name(weight, "weight", "add the weights to the table as a column")
        specs = GivenSpecs.given(
            decimal=decimal, scale=scale, ordinal=ordinal, bins=bins, missing=missing,
            fold=fold,
        )  # fmt: skip
        source = TableSource.given(table, delimiter, encoding, na, sheet, header_row)
        roles = Roles(
            as_names(sensitive, "--sensitive"), labels, id, as_names(drop, "--drop"),
            as_names(categorical, "--categorical"), as_names(numeric, "--numeric"),
            use_sensitive, labels_option, as_names(columns, "--columns"), weight,
        )  # fmt: skip
        if not roles.sensitive:
            raise WrongUseError("--sensitive names no column; name one at least.")
        engine = source.engine(engine, scheduler)
        return cls(source, roles, specs, engine, scheduler)

    def encoded_by(self, model: Model) -> TableRequest:
        """Return the request with the columns and the encoding of a model."""
        roles, specs = self.roles, self.specs
        if (
            roles.drop or roles.columns or roles.categorical or roles.numeric
            or roles.use_sensitive or specs.ordinal or specs.scale or specs.decimal
        ):  # fmt: skip
            raise WrongUseError(
                "--columns, --drop, --categorical, --numeric, --ordinal, --scale, "
                "--decimal and --use-sensitive do not go with a model, which says "
                "which columns are used and how; leave them out."
            )
        return self._replace(model=model)

    @property
    def features(self) -> list[Feature] | None:
        """Features of the model, if there is one."""
        return None if self.model is None else self.model.features

    def roles_in(self, columns: Collection[str]) -> Roles:
        """Return the roles of a table's columns; a model adds those that it knows."""
        roles, model = self.roles.of_table(columns, self.specs), self.model
        if model is None:
            return roles
        given = {*roles.specs.edges, *roles.specs.folded}
        for name in roles.specs.folded:
            if name not in roles.sensitive:
                raise WrongUseError(
                    f"--fold names {name!r}, but with a model only sensitive columns "
                    "can be folded; leave it out."
                )
        known = {
            name: reading
            for name, reading in model.groups.items()
            if name in roles.sensitive and name not in given and reading != AS_IT_IS
        }
        has_weight = roles.weight is None and model.weight in columns
        weight = model.weight if has_weight else roles.weight
        return replace(roles, known_groups=known, weight=weight)

    @property
    def is_in_parts(self) -> bool:
        """True if rows are never all in memory."""
        return self.engine != "memory"

    def refuse(self, option: str, instead: str) -> WrongUseError:
        """Return the error for an option that needs all rows in memory."""
        return WrongUseError(
            f"{option} needs all rows in memory; with --engine {self.engine} {instead}."
        )


def _is_frame(table: Any) -> bool:
    """Return True for a table; a Series has the same marks, but one dimension."""
    has_mark = any(hasattr(table, each) for each in FRAME_MARKS)
    return has_mark and len(getattr(table, "shape", (0, 0))) == 2


def check_labels(name: Any) -> None:
    """Refuse an array of labels."""
    _check_name(
        name,
        "labels",
        "add the labels to the table as a column, or use rawlsian.audit for arrays",
    )


def check_id(name: Any) -> None:
    """Refuse an array of identifiers."""
    if name is not None:
        _check_name(name, "id", "add the identifiers to the table as a column")


def _check_name(name: Any, argument: str, instead: str) -> None:
    if not isinstance(name, str):
        raise WrongUseError(
            f"{argument} must be the name of a column, got {type(name).__name__}; "
            f"{instead}."
        )


def as_path(path: str | os.PathLike[str] | None) -> str | None:
    """Return a path as text."""
    return None if path is None else os.fspath(path)


def as_model(model: Any) -> str | Model:
    """Return a model, or its path as text."""
    if isinstance(model, Model):
        return model
    if not isinstance(model, (str, os.PathLike)):
        raise WrongUseError(
            "model must be the path of a file that fit wrote with --save, a TableFit "
            f"or its model, got {type(model).__name__}."
        )
    return os.fspath(model)


def check_choice(value: str, option: str, choices: Sequence[str]) -> None:
    """Refuse what is not one of the choices."""
    if value not in choices:
        raise WrongUseError(
            f"{option} must be one of {', '.join(choices)}, got {value!r}."
        )


def checked_choose_by(choose_by: str | None, numbers: range) -> ChooseBy:
    """Return how a number of clusters is chosen, or refuse that where none is."""
    if choose_by is None:
        return "silhouette"
    check_choice(choose_by, "--choose-by", CRITERIA)
    if len(numbers) == 1:
        raise WrongUseError(
            f"--choose-by {choose_by} chooses from a range such as --clusters 2:12; "
            f"with --clusters {numbers[0]} leave it out."
        )
    return next(each for each in CRITERIA if each == choose_by)


def checked_pooling(pooling: float | str | None) -> PoolingStrength | None:
    """Return the strength of pooling, "cv", or None if none was asked for."""
    if pooling is None:
        return None
    if pooling == "cv":
        return "cv"
    try:
        strength = float(pooling) if isinstance(pooling, str) else pooling
        check_pooling(strength)
    except ValueError:
        raise WrongUseError(
            "--pooling must be cv, inf or a number of people, 0 or more, got "
            f"{pooling!r}."
        ) from None
    return float(strength)


def _check_header_row(header_row: Any) -> None:
    if header_row is not None and (not _is_whole(header_row) or header_row < 1):
        raise WrongUseError(
            f"--header-row must be the number of a row, from 1, got {header_row!r}."
        )


def check_seed(seed: int) -> None:
    """Refuse seeds that NumPy does not take."""
    if not hasattr(seed, "__index__") or not 0 <= seed < 2**32:
        raise WrongUseError(
            f"--seed must be a number from 0 to {2**32 - 1:,}, got {seed}."
        )


def numbers_of_clusters(clusters: int | str | range | tuple[int, int]) -> range:
    """Return one number of clusters, or those from low to high."""
    numbers = range(0)
    if isinstance(clusters, range):
        numbers = clusters if clusters.step == 1 else numbers
    elif isinstance(clusters, str):
        if re.fullmatch("[0-9]{1,9}(:[0-9]{1,9})?", clusters):
            low, _, high = clusters.partition(":")
            numbers = range(int(low), int(high or low) + 1)
    else:
        ends = clusters if isinstance(clusters, tuple) else (clusters, clusters)
        if len(ends) == 2 and all(map(_is_whole, ends)):
            numbers = range(index(ends[0]), index(ends[1]) + 1)
    if not numbers or min(numbers) < 1:
        raise WrongUseError(
            "--clusters must be a number such as 5 or a range such as 2:12, got "
            f"{clusters!r}."
        )
    return numbers


def _is_whole(number: object) -> bool:
    """Return True for whole numbers, of Python or NumPy; not for True and False."""
    return hasattr(number, "__index__") and not isinstance(number, bool)
