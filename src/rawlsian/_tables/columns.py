"""Classify columns: numbers, categories, or a reason not to use them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from rawlsian._tables.column import OTHER_VALUES, Column, Table
from rawlsian._tables.errors import TableError, WrongUseError
from rawlsian._tables.names import check_is_column, listed_columns
from rawlsian._tables.numbers import NUMBER, as_floats, is_number, match
from rawlsian._tables.specs import NO_SPECS, ColumnSpecs, GivenSpecs
from rawlsian._tables.values import (
    Kind,
    Used,
    as_category,
    as_groups,
    as_numbers,
    merging,
)
from rawlsian._tables.written import check_points, find_reading
from rawlsian.preprocessing.reading import AS_IT_IS, Reading

# More different texts than this are no categories unless the user says so.
MOST_LEVELS = 100
# Nor are texts of which nearly each occurs once.
NEARLY_ALL = 0.9
# Texts of so many words are sentences; of so many letters, too.
MANY_WORDS, MANY_LETTERS = 4, 40
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

NOT_ASKED_FOR = "not among --columns"
ID_NAME = re.compile(r"(^|[_\W])(?i:id|ids|uuid|guid|key|nr|no)$|[a-z](Id|ID)$")
DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([T ]\d{1,2}:\d{2}.*)?"
    r"|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2})([T ]\d{1,2}:\d{2}.*)?"
    r"|(19|20)\d{2}(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])"
    r"|\d{1,2}[ -][A-Za-z]{3,9}[ -]\d{2,4}|[A-Za-z]{3,9} \d{1,2},? \d{4}"
)


class Unused(NamedTuple):
    """A column that is not used, and why."""

    name: str
    reason: str
    is_identifier: bool = False


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
    columns, drop, categorical, numeric : tuple of str
        Columns to use (none: all), columns to leave out, and columns to take as
        categories or as numbers, however they look.
    use_sensitive : bool
        True to use the sensitive columns, too.
    labels_option : str
        The option that names the column of clusters.
    weight : str or None
        The column that says how many people a row stands for.
    specs : ColumnSpecs
        How single columns are read.
    known_groups : dict of str to Reading
        How a model reads sensitive columns.
    """

    sensitive: tuple[str, ...]
    labels: str | None = None
    identifier: str | None = None
    drop: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    use_sensitive: bool = False
    labels_option: str = "--labels"
    columns: tuple[str, ...] = ()
    weight: str | None = None
    specs: ColumnSpecs = NO_SPECS
    known_groups: Mapping[str, Reading] = field(default_factory=dict)

    def of_table(self, columns: Collection[str], given: GivenSpecs) -> Roles:
        """Return the roles by the names of a table's columns."""
        return replace(
            self,
            sensitive=listed_columns(self.sensitive, columns, "--sensitive"),
            columns=listed_columns(self.columns, columns, "--columns"),
            drop=listed_columns(self.drop, columns, "--drop"),
            categorical=listed_columns(self.categorical, columns, "--categorical"),
            numeric=listed_columns(self.numeric, columns, "--numeric"),
            specs=given.of_table(columns),
        )

    def said_of(self, name: str) -> Kind | None:
        """Return the kind that the user gives a column, or None."""
        if name in self.categorical:
            return "category"
        return "number" if name in self.numeric else None


def check_roles(table: Table, roles: Roles) -> None:
    """Refuse names that are not in the table, or that are given two roles."""
    one = {
        roles.labels_option: roles.labels,
        "--id": roles.identifier,
        "--weight": roles.weight,
    }
    _refuse_two(
        table,
        {
            "--sensitive": roles.sensitive,
            **{option: () if name is None else (name,) for option, name in one.items()},
            "--drop": roles.drop,
        },
    )
    others = {option: (name,) for option, name in one.items() if name is not None}
    _refuse_two(table, {**others, "--drop": roles.drop, "--columns": roles.columns})
    ordered = tuple(roles.specs.order)
    for kinds in (
        {"--categorical": roles.categorical, "--numeric": roles.numeric},
        {"--ordinal": ordered, "--categorical": roles.categorical},
        {"--ordinal": ordered, "--numeric": roles.numeric},
    ):
        _refuse_two(table, kinds)
    for name in roles.specs.edges:
        if name not in roles.sensitive:
            raise WrongUseError(
                f"--bins names {name!r}, which is not a sensitive column; bins make "
                "groups, so name it by --sensitive, or leave it out."
            )
    if roles.identifier:
        find_identifier(table, roles.identifier)


def _refuse_two(table: Table, given: dict[str, tuple[str, ...]]) -> None:
    """Raise if two of these options name one column."""
    taken: dict[str, str] = {}
    for option, names in given.items():
        for name in dict.fromkeys(names):
            find(table, name, option)
            if name in taken:
                raise WrongUseError(
                    f"column {name!r} is given by both {taken[name]} and {option}; "
                    "choose one."
                )
            taken[name] = option


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
    check_is_column(name, table.columns, option)
    return table.columns[name]


def sort_out(table: Table, roles: Roles) -> tuple[list[Used], list[Unused]]:
    """Every column either as one to use, or with the reason why not."""
    used: list[Used] = []
    unused: list[Unused] = []
    for column in table.columns.values():
        reason = _role_reason(column.name, roles)
        if reason is None:
            verdict = look_at(column, roles.said_of(column.name), roles.specs)
        else:
            is_asked = reason != NOT_ASKED_FOR
            names_rows = not is_asked and identifier_among([column]) is not None
            verdict = Unused(column.name, reason, names_rows)
        if isinstance(verdict, Used):
            used.append(verdict)
        else:
            unused.append(verdict)
    if not used:
        raise nothing_to_use(unused)
    _check_specs(roles, used, unused)
    open_points(table, used, roles.specs)
    return used, unused


def open_points(table: Table, used: Sequence[Used], specs: ColumnSpecs) -> list[str]:
    """Return columns whose points may separate thousands, where that is harmless."""
    has_commas = any(each.reading.decimal == "," for each in used)
    return [
        each.name
        for each in used
        if each.kind == "number" and each.reading.is_plain_number
        and not each.reading.order and specs.decimal_of(each.name) is None
        and check_points(table.columns[each.name], has_commas)
    ]  # fmt: skip


def _check_specs(roles: Roles, used: Sequence[Used], unused: Sequence[Unused]) -> None:
    """Refuse options for columns that they cannot concern."""
    specs = roles.specs
    numbers = {each.name for each in used if each.kind == "number"}
    categories = {each.name for each in used if each.kind == "category"}
    others = {roles.labels, roles.weight, *roles.sensitive}
    given: dict[str, tuple[Iterable[str], set[str | None]]] = {
        "--scale": (specs.scale, {*numbers}),
        "--ordinal": (specs.order, {*numbers}),
        "--decimal": (specs.decimal, {*numbers, roles.weight, *specs.edges}),
        "--fold": (specs.folded, {*categories, *roles.sensitive, *specs.order}),
        "--missing": (specs.missing.columns, {*numbers, *categories, *others}),
    }
    reasons = {each.name: f"left out: {each.reason}" for each in unused}
    reasons |= dict.fromkeys(numbers, "a number") | dict.fromkeys(
        categories, "a category"
    )
    for option, (names, concerned) in given.items():
        for name in names:
            if name not in concerned:
                raise WrongUseError(
                    f"{option} names {name!r}, which it does not concern "
                    f"({reasons[name]}); do not name it there."
                )


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
    if name == roles.weight:
        return "the weights"
    if name in roles.sensitive and not roles.use_sensitive:
        return "sensitive; --use-sensitive uses it, too"
    if roles.columns and name not in (*roles.columns, *roles.sensitive):
        return NOT_ASKED_FOR
    return None


def look_at(
    column: Column, said: Kind | None = None, specs: ColumnSpecs = NO_SPECS
) -> Used | Unused:
    """A column as numbers or categories, or the reason why it is neither.

    The kind that the user gives it counts for more than how it looks.
    """
    name, n_levels = column.name, len(column.levels)
    if n_levels == 0:
        is_other = column.stored_as == "other"
        reason = OTHER_VALUES if is_other else "empty"
        return Unused(name, reason)
    if name in specs.order:
        return as_numbers(column, _ordered(column, specs))
    if said == "category":
        return as_category(column, category_reading(column, specs))
    if said == "number":
        return as_numbers(column, _number_reading(column, specs, "--numeric"))
    if n_levels == 1 and column.codes.min() >= 0:
        value = repr(column.texts()[0])
        return Unused(name, f"has the same value in all rows, {value:.40}")
    if column.stored_as == "date" or _are_dates(column):
        return Unused(name, "dates; turn them into numbers, such as days, to use them")
    reading = find_reading(column, specs.decimal_of(name))
    if reading is not None:
        if is_numbered(column):
            reason = "an identifier: a different whole number in each row"
            return Unused(name, reason, is_identifier=True)
        reading = reading._replace(scale=specs.scale_of(name))
        return as_numbers(column, reading, f", or --drop {name!r}")
    _refuse_commas(column)
    return too_varied(column) or as_category(column, category_reading(column, specs))


def category_reading(column: Column, specs: ColumnSpecs) -> Reading:
    """Return how a column of categories is read."""
    return merging(column) if column.name in specs.folded else AS_IT_IS


def _ordered(column: Column, specs: ColumnSpecs) -> Reading:
    """Return how a column of ordered categories is read."""
    reading = category_reading(column, specs)._replace(order=specs.order[column.name])
    return reading._replace(scale=specs.scale_of(column.name))


def _number_reading(column: Column, specs: ColumnSpecs, option: str) -> Reading:
    """Return how a column is read that an option says to hold numbers."""
    found = find_reading(column, specs.decimal_of(column.name))
    if found is None and column.stored_as == "text":
        is_good = match(column.levels, NUMBER)
        if is_good.all():  # with leading zeros
            found = AS_IT_IS
        else:
            place = int(np.argmin(is_good))
            raise TableError(
                f"{option} names {column.name!r}, but {column.first_row(place)} has "
                f"{column.levels[place].as_py()!r:.60}, which is not a number; leave "
                f"{option} out, or correct the table."
            )
    return (found or AS_IT_IS)._replace(scale=specs.scale_of(column.name))


def is_numbered(column: Column) -> bool:
    """Return True if rows have whole numbers of their own: counted, long, or named."""
    codes = column.codes[column.codes >= 0]
    has_id_name = ID_NAME.search(column.name) is not None
    if not len(codes):
        return False
    if len(column.levels) < (NEARLY_ALL if has_id_name else 1) * len(codes):
        return False
    if column.stored_as == "number":
        numbers = column.levels.cast(pa.float64(), safe=False).to_numpy()
    elif column.stored_as == "text" and match(column.levels, NUMBER).all():
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


def _refuse_commas(column: Column) -> None:
    """Raise if the texts are numbers but for their commas."""
    looked_at = _some(column)
    has_comma = any("," in text for text in looked_at)
    if has_comma and all(is_number(text.replace(",", "")) for text in looked_at):
        raise TableError(
            f"column {column.name!r} has numbers with a comma, such as "
            f"{looked_at[0]!r}, that fit no way of writing; correct them, say another "
            f"--decimal, or --categorical or --drop {column.name!r}."
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


def groups_of(table: Table, roles: Roles) -> list[Used]:
    """The sensitive columns, as categories."""
    columns = []
    for name in roles.sensitive:
        column = find(table, name, "--sensitive")
        if len(column.levels) == 0:
            raise TableError(
                f"the sensitive column {name!r} has no values that could name groups."
            )
        reading = roles.known_groups.get(name) or _group_reading(column, roles.specs)
        columns.append(as_groups(column, reading))
    return columns


def _group_reading(column: Column, specs: ColumnSpecs) -> Reading:
    """Return how a sensitive column is read."""
    edges = specs.edges.get(column.name, ())
    if edges:
        reading = _number_reading(column, specs, "--bins")
        return reading._replace(edges=edges, scale="range")
    is_text = column.stored_as == "text"
    if column.stored_as == "number" or (is_text and match(column.levels, NUMBER).all()):
        check_group_numbers(column.name, len(column.levels))
    return category_reading(column, specs)


def check_group_numbers(name: str, n_numbers: int) -> None:
    """Refuse more different numbers than can name groups of people."""
    if n_numbers > MOST_GROUP_NUMBERS:
        raise TableError(
            f"the sensitive column {name!r} has {n_numbers:,} different numbers, too "
            f"many for groups; make groups of them by bounds, such as --bins "
            f"{name}=25,40,60 for ages."
        )


def weights_of(table: Table, roles: Roles) -> Used | None:
    """The column of weights, as numbers of 0 and more."""
    if roles.weight is None:
        return None
    column = find(table, roles.weight, "--weight")
    if len(column.levels) == 0:
        raise TableError(f"--weight names {roles.weight!r}, which is empty.")
    reading = _number_reading(column, roles.specs, "--weight")
    return as_weights(column, reading._replace(scale="range"))


def as_weights(column: Column, reading: Reading) -> Used:
    """The column's values as weights, or an error that names one below 0."""
    weights = as_numbers(column, reading)
    if (weights.levels < 0).any():
        place = int(np.argmax(weights.levels < 0))
        raise TableError(
            f"--weight names {column.name!r}, which holds {weights.levels[place]:g} in "
            f"{column.first_row(place)}; a row stands for 0 people or more."
        )
    return weights


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
