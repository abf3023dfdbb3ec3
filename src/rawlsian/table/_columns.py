"""Work out what each column of a table is, and which of them can be clustered on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rawlsian.table._read import Column, Table, TableError, WrongUseError

# More different texts than this are no categories unless the user says so.
MOST_LEVELS = 100
# Nor are texts of which nearly each occurs once.
NEARLY_ALL = 0.9
# Texts of so many words are sentences; of so many letters, too.
MANY_WORDS, MANY_LETTERS = 4, 40
# Fewer rows than this say too little to call different values an identifier.
FEW_ROWS = 10
# Different numbers that can still name groups of people.
MOST_GROUP_NUMBERS = 20
# Levels that are looked at to tell dates and sentences.
LEVELS_LOOKED_AT = 200

ID_NAME = re.compile(r"(^|[_\W])(id|ids|uuid|guid|key|nr|no)$|[a-z](Id|ID)$", re.I)
DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([T ]\d{1,2}:\d{2}.*)?"
    r"|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2})([T ]\d{1,2}:\d{2}.*)?"
    r"|\d{1,2}[ -][A-Za-z]{3,9}[ -]\d{2,4}|[A-Za-z]{3,9} \d{1,2},? \d{4}"
)
LEADING_ZERO = re.compile(r"[+-]?0\d")

Kind = Literal["number", "category"]


class Unused(NamedTuple):
    """A column that is not clustered on, and why."""

    name: str
    reason: str
    is_identifier: bool = False


class Used(NamedTuple):
    """A column that is clustered on; numbers are NaN where missing."""

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
    """What the user says of the columns.

    Attributes
    ----------
    sensitive : tuple of str
        Columns that make the groups.
    labels : str or None
        The column of clusters, of an audit.
    identifier : str or None
        The column that names the rows.
    drop, categorical : tuple of str
        Columns to leave out, and columns to take as categories whatever they hold.
    use_sensitive : bool
        Whether to cluster on the sensitive columns too.
    """

    sensitive: tuple[str, ...]
    labels: str | None = None
    identifier: str | None = None
    drop: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    use_sensitive: bool = False


def check_roles(table: Table, roles: Roles) -> None:
    """Refuse names that are not in the table, or that are given two roles."""
    one_role = {
        "--sensitive": roles.sensitive,
        "--labels": () if roles.labels is None else (roles.labels,),
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
    """Every column either as something to cluster on, or with the reason why not."""
    used: list[Used] = []
    unused: list[Unused] = []
    for column in table.columns.values():
        reason = _role_reason(column.name, roles)
        verdict = (
            Unused(column.name, reason)
            if reason is not None
            else look_at(column, column.name in roles.categorical)
        )
        if isinstance(verdict, Used):
            used.append(verdict)
        else:
            unused.append(verdict)
    if not used:
        reasons = "; ".join(f"{each.name}: {each.reason}" for each in unused[:10])
        raise TableError(f"no column is left to cluster on ({reasons}).")
    return used, unused


def _role_reason(name: str, roles: Roles) -> str | None:
    if name in roles.drop:
        return "left out with --drop"
    if name == roles.labels:
        return "the clusters"
    if name == roles.identifier:
        return "the identifier"
    if name in roles.sensitive and not roles.use_sensitive:
        return "sensitive; --use-sensitive clusters on it too"
    return None


def look_at(column: Column, is_categorical: bool = False) -> Used | Unused:
    """A column as numbers or categories, or the reason why it is neither."""
    name, levels = column.name, column.levels
    if len(levels) == 0:
        is_other = column.stored_as == "other"
        return Unused(name, "lists or bytes" if is_other else "empty")
    if is_categorical:
        return as_category(column)
    if len(levels) == 1 and column.codes.min() >= 0:
        return Unused(name, f"has the same value in all rows, {str(levels[0])!r:.40}")
    if column.stored_as == "date" or _are_dates(levels):
        return Unused(name, "dates; turn them into numbers, such as days, to use them")
    numbers = _numbers(column)
    if numbers is not None:
        if _is_numbered(column, numbers):
            reason = "an identifier: a different whole number in each row"
            return Unused(name, reason, is_identifier=True)
        return Used(name, "number", numbers, column.codes)
    _refuse_mixed(column)
    _refuse_commas(column)
    return _too_varied(column) or as_category(column)


def as_category(column: Column) -> Used:
    """The column's values as text."""
    texts = column.levels
    if column.stored_as == "number":
        texts = np.array([f"{number:.17g}" for number in texts], object)
    return Used(column.name, "category", texts, column.codes)


def as_numbers(column: Column) -> Used:
    """The column's values as numbers, or an error that names what is not one."""
    numbers = _numbers(column, codes_too=True)
    if numbers is None:
        _refuse_mixed(column, at_least=0.0)
    assert numbers is not None
    return Used(column.name, "number", numbers, column.codes)


def _numbers(column: Column, codes_too: bool = False) -> NDArray[np.float64] | None:
    """The levels as numbers, None if one is not; infinity is refused."""
    if column.stored_as == "number":
        numbers = column.levels
    else:
        if column.stored_as != "text" or (
            not codes_too and any(map(LEADING_ZERO.fullmatch, _codes_like(column)))
        ):
            return None
        try:
            numbers = column.levels.astype(np.float64)
        except ValueError:
            return None
        # Python reads 1_000 and full-width digits; people may not.
        if any("_" in text or not text.isascii() for text in column.levels):
            return None
    if not np.isfinite(numbers).all():
        place = int(np.flatnonzero(~np.isfinite(numbers))[0])
        raise TableError(
            f"column {column.name!r} holds infinity or NaN ({column.levels[place]}) in "
            f"row {first_row(column, place)}; replace it, or leave the column out with "
            f"--drop {column.name!r}."
        )
    return numbers


def _codes_like(column: Column) -> list[str]:
    """Texts of digits only, of which a leading zero tells that they are no numbers."""
    return [text[:2] for text in column.levels if text.lstrip("+-").isdigit()]


def first_row(column: Column, place: int) -> int:
    """The first row that has that level, counted from 1."""
    return int(np.argmax(column.codes == place)) + 1


def _is_numbered(column: Column, numbers: NDArray[np.float64]) -> bool:
    """Whether each row has a whole number of its own: in a row, or by its name."""
    n_rows = int((column.codes >= 0).sum())
    if len(numbers) < n_rows or n_rows < FEW_ROWS or (numbers % 1).any():
        return False
    is_consecutive = np.ptp(numbers) == n_rows - 1
    return bool(is_consecutive or ID_NAME.search(column.name))


def _are_dates(levels: NDArray[Any]) -> bool:
    looked_at = _some(levels)
    return all(isinstance(text, str) and DATE.fullmatch(text) for text in looked_at)


def _some(levels: NDArray[Any]) -> NDArray[Any]:
    return levels[:: len(levels) // LEVELS_LOOKED_AT + 1]


def _refuse_mixed(column: Column, at_least: float = 0.5) -> None:
    """Raise if that share of the rows holds numbers, and others do not."""
    is_number = np.array([_is_number(text) for text in column.levels])
    share = np.append(is_number, False)[column.codes].sum() / (column.codes >= 0).sum()
    if share < at_least or is_number.all():  # all: codes with leading zeros
        return
    place = int(np.argmin(is_number))
    text = column.levels[place]
    raise TableError(
        f"column {column.name!r} holds numbers, but {text!r:.60} in row "
        f"{first_row(column, place)}; mend it, or say --na {text!r:.60} if it means "
        f"missing, --categorical {column.name!r} or --drop {column.name!r}."
    )


def _refuse_commas(column: Column) -> None:
    """Raise if the texts are numbers but for their commas."""
    looked_at = _some(column.levels)
    has_comma = any("," in text for text in looked_at)
    if has_comma and all(_is_number(text.replace(",", "")) for text in looked_at):
        raise TableError(
            f"column {column.name!r} has numbers with a comma, such as "
            f"{column.levels[0]!r}; write them with a point for decimals and nothing "
            f"for thousands, or say --categorical or --drop {column.name!r}."
        )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def _too_varied(column: Column) -> Unused | None:
    """Why so many different texts are not categories."""
    n_levels, n_rows = len(column.levels), int((column.codes >= 0).sum())
    looked_at = _some(column.levels)
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
            raise TableError(f"the sensitive column {name!r} is empty.")
        if len(column.levels) > MOST_GROUP_NUMBERS and (
            column.stored_as == "number" or all(map(_is_number, column.levels))
        ):
            raise TableError(
                f"the sensitive column {name!r} has {len(column.levels):,} different "
                "numbers, too many for groups; make groups of them first, such as "
                "ages by decade."
            )
        columns.append(as_category(column))
    return columns
