"""Classify columns: numbers, categories, or a reason not to use them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rawlsian._tables.column import OTHER_VALUES, Column, Table
from rawlsian._tables.errors import TableError, WrongUseError
from rawlsian._tables.numbers import (
    LEADING_ZERO,
    NOT_FINITE,
    NUMBER,
    as_floats,
    is_number,
    match,
)

# More different texts than this are no categories unless the user says so.
MOST_LEVELS = 100
# Nor are texts of which nearly each occurs once.
NEARLY_ALL = 0.9
# Texts of so many words are sentences; of so many letters, too.
MANY_WORDS, MANY_LETTERS = 4, 40
# A column with at least this fraction of numbers is meant to be one of numbers.
MOSTLY = 0.5
# Different whole numbers that are all as large as this are telephone numbers or so.
MANY_DIGITS = 10**7
# Rows that are counted from something else than 0 or 1 must be so many.
MANY_ROWS = 100
# Fewer rows than this say too little to call different values an identifier.
FEW_ROWS = 10
# Different numbers that can still name groups of people.
MOST_GROUP_NUMBERS = 20
# Levels that are looked at to find dates and sentences.
LEVELS_LOOKED_AT = 200

ID_NAME = re.compile(r"(^|[_\W])(?i:id|ids|uuid|guid|key|nr|no)$|[a-z](Id|ID)$")
DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([T ]\d{1,2}:\d{2}.*)?"
    r"|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2})([T ]\d{1,2}:\d{2}.*)?"
    r"|(19|20)\d{2}(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])"
    r"|\d{1,2}[ -][A-Za-z]{3,9}[ -]\d{2,4}|[A-Za-z]{3,9} \d{1,2},? \d{4}"
)

Kind = Literal["number", "category"]


class Unused(NamedTuple):
    """A column that is not used, and why."""

    name: str
    reason: str
    is_identifier: bool = False


class Used(NamedTuple):
    """A column that is used: levels are floats, or texts of categories."""

    name: str
    kind: Kind
    levels: NDArray[Any]
    codes: NDArray[np.int32]

    @property
    def is_missing(self) -> NDArray[np.bool_]:
        """Which rows have no value."""
        missing: NDArray[np.bool_] = self.codes < 0
        return missing

    @property
    def numbers(self) -> NDArray[np.float64]:
        """The numbers of a column of numbers, row by row."""
        return np.append(self.levels, np.nan)[self.codes]


@dataclass(frozen=True)
class Roles:
    """Roles of columns, as the user gives them.

    Attributes
    ----------
    sensitive : tuple of str
        Columns that make the groups.
    labels : str or None
        The column of clusters: those of an audit, or those to begin from.
    identifier : str or None
        The column that names the rows.
    drop, categorical, numeric : tuple of str
        Columns to leave out, and columns to take as categories or as numbers, however
        they look.
    use_sensitive : bool
        True to use the sensitive columns, too.
    labels_option : str
        The option that names the column of clusters.
    """

    sensitive: tuple[str, ...]
    labels: str | None = None
    identifier: str | None = None
    drop: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    use_sensitive: bool = False
    labels_option: str = "--labels"

    def said_of(self, name: str) -> Kind | None:
        """Return the kind that the user gives a column, or None."""
        if name in self.categorical:
            return "category"
        return "number" if name in self.numeric else None


def check_roles(table: Table, roles: Roles) -> None:
    """Refuse names that are not in the table, or that are given two roles."""
    one_role = {
        "--sensitive": roles.sensitive,
        roles.labels_option: () if roles.labels is None else (roles.labels,),
        "--id": () if roles.identifier is None else (roles.identifier,),
        "--drop": roles.drop,
    }
    taken: dict[str, str] = {}
    for option, names in one_role.items():
        for name in dict.fromkeys(names):
            find(table, name, option)
            if name in taken:
                raise WrongUseError(
                    f"column {name!r} is given by both {taken[name]} and {option}; "
                    "choose one."
                )
            taken[name] = option
    for name in roles.categorical:
        find(table, name, "--categorical")
    for name in roles.numeric:
        find(table, name, "--numeric")
        if name in roles.categorical:
            raise WrongUseError(
                f"column {name!r} is given by both --categorical and --numeric; choose "
                "one."
            )
    if roles.identifier:
        find_identifier(table, roles.identifier)


def find_identifier(table: Table, name: str) -> Column:
    """The column that --id names, of text, numbers or dates."""
    column = find(table, name, "--id")
    if column.stored_as == "other":
        raise WrongUseError(
            f"--id names {name!r}, which holds {OTHER_VALUES}; name a "
            "column of text or numbers."
        )
    return column


def find(table: Table, name: str, option: str) -> Column:
    """The column of that name."""
    if name not in table.columns:
        names = list(table.columns)
        shown = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
        raise WrongUseError(
            f"{option} names {name!r}, which is not a column of the table; its columns "
            f"are {shown}."
        )
    return table.columns[name]


def sort_out(table: Table, roles: Roles) -> tuple[list[Used], list[Unused]]:
    """Every column either as one to use, or with the reason why not."""
    used: list[Used] = []
    unused: list[Unused] = []
    for column in table.columns.values():
        reason = _role_reason(column.name, roles)
        verdict = (
            Unused(column.name, reason)
            if reason is not None
            else look_at(column, roles.said_of(column.name))
        )
        if isinstance(verdict, Used):
            used.append(verdict)
        else:
            unused.append(verdict)
    if not used:
        raise nothing_to_use(unused)
    return used, unused


def nothing_to_use(unused: Sequence[Unused]) -> TableError:
    """Return the error for a table of which no column can be used."""
    reasons = "; ".join(f"{each.name}: {each.reason}" for each in unused[:10])
    return TableError(f"no column is left to use ({reasons}).")


def _role_reason(name: str, roles: Roles) -> str | None:
    if name in roles.drop:
        return "asked for with --drop"
    if name == roles.labels:
        return "the clusters"
    if name == roles.identifier:
        return "the identifier"
    if name in roles.sensitive and not roles.use_sensitive:
        return "sensitive; --use-sensitive uses it, too"
    return None


def look_at(column: Column, said: Kind | None = None) -> Used | Unused:
    """A column as numbers or categories, or the reason why it is neither.

    The kind that the user gives it counts for more than how it looks.
    """
    name, n_levels = column.name, len(column.levels)
    if n_levels == 0:
        is_other = column.stored_as == "other"
        reason = OTHER_VALUES if is_other else "empty"
        return Unused(name, reason)
    if said == "category":
        return as_category(column)
    if said == "number":
        _refuse_text(column)
        return as_numbers(column)
    if n_levels == 1 and column.codes.min() >= 0:
        value = repr(column.texts()[0])
        return Unused(name, f"has the same value in all rows, {value:.40}")
    if column.stored_as == "date" or _are_dates(column):
        return Unused(name, "dates; turn them into numbers, such as days, to use them")
    if column.stored_as == "number" or _holds_numbers(column):
        if is_numbered(column):
            reason = "an identifier: a different whole number in each row"
            return Unused(name, reason, is_identifier=True)
        return as_numbers(column, f", or --drop {name!r}")
    _refuse_mixed(column)
    _refuse_commas(column)
    return too_varied(column) or as_category(column)


def as_category(column: Column) -> Used:
    """The column's values as text."""
    return Used(column.name, "category", column.texts(), column.codes)


def as_numbers(column: Column, or_else: str = "") -> Used:
    """The column's values as finite numbers, or an error that names what is not one.

    ``or_else`` ends the sentence: another way out than to correct the table.
    """
    if column.stored_as == "number":
        numbers = column.levels.cast(pa.float64(), safe=False).to_numpy()
    elif column.stored_as != "text":
        raise TableError(
            f"column {column.name!r} must hold numbers, not dates, lists or bytes."
        )
    else:
        is_good = match(column.levels, f"{NUMBER}|{NOT_FINITE}")
        if not is_good.all():
            raise _mixed(column, is_good, "must hold numbers", or_else)
        numbers = as_floats(column.levels)
    if not np.isfinite(numbers).all():
        place = int(np.flatnonzero(~np.isfinite(numbers))[0])
        value = column.levels[place].as_py()
        raise TableError(
            f"column {column.name!r} holds infinity or a number too large ({value}) in "
            f"{column.first_row(place)}; replace it, or say --na {str(value)!r} if "
            f"it means missing{or_else}."
        )
    return Used(column.name, "number", numbers, column.codes)


def _holds_numbers(column: Column) -> bool:
    """Return True if all texts are numbers; with leading zeros they are codes."""
    is_finite = match(column.levels, NUMBER)
    if not is_finite.any() or match(column.levels, LEADING_ZERO).any():
        return False
    return bool((is_finite | match(column.levels, NOT_FINITE)).all())


def is_numbered(column: Column) -> bool:
    """Return True if rows have whole numbers of their own: counted, long, or named."""
    codes = column.codes[column.codes >= 0]
    has_id_name = ID_NAME.search(column.name) is not None
    if len(column.levels) < (NEARLY_ALL if has_id_name else 1) * len(codes):
        return False
    if column.stored_as == "number":
        numbers = column.levels.cast(pa.float64(), safe=False).to_numpy()
    elif _holds_numbers(column):
        numbers = as_floats(column.levels)
    else:
        return False
    if not np.isfinite(numbers).all() or (numbers % 1).any():
        return False
    if has_id_name:
        return len(codes) > 2
    is_counted = bool(
        (numbers[codes] == numbers[codes[0]] + np.arange(len(codes))).all()
    )
    if is_counted and len(codes) >= FEW_ROWS:
        return len(codes) >= MANY_ROWS or numbers[codes[0]] in (0, 1)
    return len(codes) >= FEW_ROWS and bool((numbers >= MANY_DIGITS).all())


def _some(column: Column) -> list[str]:
    """Some of the texts, from all over the table."""
    levels = column.levels
    step = len(levels) // LEVELS_LOOKED_AT + 1
    return list(levels.take(pa.array(range(0, len(levels), step))).to_pylist())


def _are_dates(column: Column) -> bool:
    if column.stored_as != "text":
        return False
    are_dates = [DATE.fullmatch(text) is not None for text in _some(column)]
    return sum(are_dates) >= NEARLY_ALL * len(are_dates)


def _refuse_text(column: Column) -> None:
    """Raise if --numeric names a column that does not have mostly numbers."""
    if column.stored_as != "text":
        return
    is_good = match(column.levels, f"{NUMBER}|{NOT_FINITE}")
    if not _is_mostly(is_good, column):
        place = int(np.argmin(is_good))
        raise TableError(
            f"--numeric names {column.name!r}, but {column.first_row(place)} has "
            f"{column.levels[place].as_py()!r:.60}, which is not a number; leave "
            "--numeric out, or correct the table."
        )


def _refuse_mixed(column: Column) -> None:
    """Raise if half of the rows or more hold numbers, and others do not."""
    is_good = match(column.levels, NUMBER)
    if _is_mostly(is_good, column) and not is_good.all():
        or_else = f", --categorical {column.name!r} or --drop {column.name!r}"
        raise _mixed(column, is_good, "has mostly numbers", or_else)


def _is_mostly(is_good: NDArray[np.bool_], column: Column) -> bool:
    """Return True if at least MOSTLY of the rows with a value have a good level."""
    n_good = np.append(is_good, False)[column.codes].sum()
    return bool(n_good / (column.codes >= 0).sum() >= MOSTLY)


def _mixed(
    column: Column, is_good: NDArray[np.bool_], has: str, or_else: str
) -> TableError:
    """Return the error that names the first level that is not good."""
    place = int(np.argmin(is_good))
    text = repr(column.levels[place].as_py())
    return TableError(
        f"column {column.name!r} {has}, but {text:.60} in "
        f"{column.first_row(place)}; correct it, or say --na {text:.60} if it means "
        f"missing{or_else}."
    )


def _refuse_commas(column: Column) -> None:
    """Raise if the texts are numbers but for their commas."""
    looked_at = _some(column)
    has_comma = any("," in text for text in looked_at)
    if has_comma and all(is_number(text.replace(",", "")) for text in looked_at):
        raise TableError(
            f"column {column.name!r} has numbers with a comma, such as "
            f"{looked_at[0]!r}; write them with a point for decimals and nothing for "
            f"thousands, or say --categorical or --drop {column.name!r}."
        )


def too_varied(column: Column) -> Unused | None:
    """Return why so many different texts are not categories, or None if they are."""
    n_levels, n_rows = len(column.levels), int((column.codes >= 0).sum())
    looked_at = _some(column)
    words = np.mean([len(text.split()) for text in looked_at])
    letters = np.mean([len(text) for text in looked_at])
    is_prose = words >= MANY_WORDS or letters >= MANY_LETTERS
    is_varied = n_levels > MOST_LEVELS or n_levels > n_rows / 2
    texts = f"{n_levels:,} different texts in {n_rows:,} rows"
    if is_prose and is_varied and n_rows >= FEW_ROWS:
        return Unused(column.name, f"free text: {texts}")
    if n_levels >= NEARLY_ALL * n_rows and n_rows >= FEW_ROWS:
        return Unused(column.name, f"an identifier: {texts}", is_identifier=True)
    if n_levels > MOST_LEVELS:
        return Unused(
            column.name,
            f"{texts}, more than the {MOST_LEVELS} that are taken as categories; "
            f"--categorical {column.name!r} takes them all the same",
        )
    return None


def groups_of(table: Table, names: Sequence[str]) -> list[Used]:
    """The sensitive columns, as categories."""
    columns = []
    for name in names:
        column = find(table, name, "--sensitive")
        if len(column.levels) == 0:
            raise TableError(
                f"the sensitive column {name!r} has no values that could name groups."
            )
        is_text = column.stored_as == "text"
        if column.stored_as == "number" or (
            is_text and match(column.levels, NUMBER).all()
        ):
            check_group_numbers(name, len(column.levels))
        columns.append(as_category(column))
    return columns


def check_group_numbers(name: str, n_numbers: int) -> None:
    """Refuse more different numbers than can name groups of people."""
    if n_numbers > MOST_GROUP_NUMBERS:
        raise TableError(
            f"the sensitive column {name!r} has {n_numbers:,} different numbers, too "
            "many for groups; make groups of them first, such as ages by decade."
        )


def identifier_among(columns: Iterable[Column]) -> Column | None:
    """The first column that names the rows."""
    for column in columns:
        if is_numbered(column):
            return column
        if column.stored_as == "text" and len(column.levels):
            varied = None if _are_dates(column) else too_varied(column)
            if varied is not None and varied.is_identifier:
                return column
    return None
