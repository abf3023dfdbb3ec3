"""Options for columns: how each is written, scaled, ordered, folded or binned."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from rawlsian._tables.errors import WrongUseError
from rawlsian._tables.names import ByColumn, as_names, listed_columns, split_list
from rawlsian._tables.numbers import is_number
from rawlsian.preprocessing.reading import SCALES, Scale

MISSING_POLICIES = ("error", "drop", "category")
DECIMALS = (".", ",")


class MissingPolicy(NamedTuple):
    """How rows with missing values are treated: by default, and by column."""

    default: str = "error"
    columns: Mapping[str, str] = {}

    def of(self, name: str) -> str:
        """Return how missing values of a column are treated."""
        return self.columns.get(name, self.default)


class ColumnSpecs(NamedTuple):
    """Options for columns of a table, by their names in it.

    Attributes
    ----------
    decimal, scale : dict
        Decimal sign and scale of columns.
    default_decimal, default_scale : str or None
        Those of all other columns, if they were given.
    order : dict of str to tuple of str
        Ordered categories.
    edges : dict of str to tuple of float
        Bounds of groups.
    folded : tuple of str
        Columns whose spellings are merged.
    missing : MissingPolicy
        How missing values are treated.
    """

    decimal: Mapping[str, str] = {}
    default_decimal: str | None = None
    scale: Mapping[str, Scale] = {}
    default_scale: Scale | None = None
    order: Mapping[str, tuple[str, ...]] = {}
    edges: Mapping[str, tuple[float, ...]] = {}
    folded: tuple[str, ...] = ()
    missing: MissingPolicy = MissingPolicy()

    def decimal_of(self, name: str) -> str | None:
        """Return the decimal sign that the user gives, if they do."""
        return self.decimal.get(name, self.default_decimal)

    def scale_of(self, name: str) -> Scale:
        """Return how numbers of a column are scaled."""
        return self.scale.get(name, self.default_scale or "range")


NO_SPECS = ColumnSpecs()


class GivenSpecs(NamedTuple):
    """Options for columns as they were given, before the table is known."""

    decimal: ByColumn = ByColumn("--decimal")
    scale: ByColumn = ByColumn("--scale")
    ordinal: ByColumn = ByColumn("--ordinal")
    bins: ByColumn = ByColumn("--bins")
    missing: ByColumn = ByColumn("--missing")
    fold: tuple[str, ...] = ()

    @classmethod
    def given(
        cls, *, decimal: Any, scale: Any, ordinal: Any, bins: Any, missing: Any,
        fold: str | Iterable[str],
    ) -> GivenSpecs:  # fmt: skip
        """Take texts, lists of texts or mappings; refuse what no table could have."""
        found = cls(
            ByColumn.given("--decimal", () if decimal is None else decimal),
            ByColumn.given("--scale", scale), ByColumn.given("--ordinal", ordinal),
            ByColumn.given("--bins", bins), ByColumn.given("--missing", missing),
            as_names(fold, "--fold"),
        )  # fmt: skip
        for each, check in (
            (found.decimal, _decimal), (found.scale, _scale),
            (found.missing, _missing), (found.ordinal, _order), (found.bins, _edges),
        ):  # fmt: skip
            for text in each.texts:
                if "=" not in text:
                    check(text, "")
        return found

    def of_table(self, columns: Collection[str]) -> ColumnSpecs:
        """Return the options by the names of the table's columns."""
        decimal, default_decimal = self.decimal.of_columns(columns, _decimal)
        scale, default_scale = self.scale.of_columns(columns, _scale)
        order, _ = self.ordinal.of_columns(columns, _order)
        edges, _ = self.bins.of_columns(columns, _edges)
        missing, default = self.missing.of_columns(columns, _missing)
        return ColumnSpecs(
            decimal, default_decimal, scale, default_scale, order, edges,
            listed_columns(self.fold, columns, "--fold"),
            MissingPolicy(default or "error", missing),
        )  # fmt: skip


def _decimal(value: Any, column: str) -> str:
    if value not in DECIMALS:
        of = f" for {column!r}" if column else ""
        raise WrongUseError(
            f"--decimal must be . or a comma, or one of them for some columns, as "
            f"COLUMN=., got {value!r}{of}."
        )
    return str(value)


def _scale(value: Any, column: str) -> str:
    return _one_of(value, "--scale", tuple(SCALES), column)


def _missing(value: Any, column: str) -> str:
    return _one_of(value, "--missing", MISSING_POLICIES, column)


def _one_of(value: Any, option: str, choices: tuple[str, ...], column: str) -> str:
    if value not in choices:
        of = f" for {column!r}" if column else ""
        raise WrongUseError(
            f"{option} must be one of {', '.join(choices)}, got {value!r}{of}."
        )
    return str(value)


def _order(value: Any, column: str) -> tuple[str, ...]:
    """Return ordered levels: at least two, each once."""
    if not column:
        raise WrongUseError(
            f"--ordinal must name a column and its levels from the lowest, as "
            f"COLUMN=low,mid,high, got {value!r}."
        )
    levels = split_list(value) if isinstance(value, str) else list(map(str, value))
    if len(levels) < 2 or len(set(levels)) < len(levels) or "" in levels:
        raise WrongUseError(
            f"--ordinal {column}= needs two or more different levels, from the lowest "
            f"to the highest, got {','.join(levels)!r}."
        )
    return tuple(levels)


def _edges(value: Any, column: str) -> tuple[float, ...]:
    """Return ascending bounds of groups."""
    if not column:
        raise WrongUseError(
            "--bins must name a sensitive column and bounds, as COLUMN=25,35,50, got "
            f"{value!r}."
        )
    texts = split_list(value) if isinstance(value, str) else list(map(str, value))
    edges = tuple(float(text) for text in texts if is_number(text))
    if len(edges) < len(texts) or not edges or list(edges) != sorted(set(edges)):
        raise WrongUseError(
            f"--bins {column}= needs ascending numbers, as 25,35,50, got "
            f"{','.join(texts)!r}."
        )
    return edges
