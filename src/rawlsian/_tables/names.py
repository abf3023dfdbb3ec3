"""Names of columns in options: comma lists, and options for some columns only."""

from __future__ import annotations

import csv
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from rawlsian._tables.errors import WrongUseError


def as_names(names: str | Iterable[str], option: str) -> tuple[str, ...]:
    """Return one text, or several without repetition."""
    if isinstance(names, str):
        return (names,)
    if type(names).__name__ == "Series":
        raise WrongUseError(
            f"{option} must be a text or a list of texts, got a Series; give the name "
            "of the column."
        )
    several = list(names) if isinstance(names, Iterable) else [names]
    for name in several:
        if not isinstance(name, str):
            found = " ".join(repr(name).split())
            raise WrongUseError(
                f"{option} must be a text or a list of texts, got {found:.60}."
            )
    return tuple(dict.fromkeys(several))


def listed_columns(
    texts: Sequence[str], columns: Collection[str], option: str
) -> tuple[str, ...]:
    """Return the columns that texts name, without repetition.

    A text is the name of a column or, if there is none of that name, a list with
    commas. In such a list a name that has a comma stands in double quotes.
    """
    names = [
        name
        for text in texts
        for name in ([text] if text in columns else split_list(text))
    ]
    for name in names:
        check_is_column(name, columns, option)
    return tuple(dict.fromkeys(names))


def split_list(text: str) -> list[str]:
    """Return the parts of a list with commas, each without blanks around it."""
    parts = next(csv.reader([text], skipinitialspace=True), [""])
    return [part.strip() for part in parts]


def check_is_column(name: str, columns: Collection[str], option: str) -> None:
    """Refuse what is not a column of the table."""
    if name not in columns:
        names = list(columns)
        shown = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
        raise WrongUseError(
            f"{option} names {name!r}, which is not a column of the table; its columns "
            f"are {shown}."
        )


class ByColumn(NamedTuple):
    """An option that may differ by column, as it was given.

    Attributes
    ----------
    option : str
        Its name.
    texts : tuple of str
        Texts such as "robust", for all columns, and "income,pay=log", for some.
    values : tuple of (str, Any)
        A column and its value, as Python gives them.
    """

    option: str
    texts: tuple[str, ...] = ()
    values: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def given(cls, option: str, given: Any) -> ByColumn:
        """Take a text, a list of texts, or a mapping of columns to values."""
        if isinstance(given, Mapping):
            for name in given:
                as_names([name], option)
            return cls(option, (), tuple(given.items()))
        return cls(option, as_names(given, option))

    def of_columns(
        self, columns: Collection[str], value: Callable[[Any, str], Any]
    ) -> tuple[dict[str, Any], Any]:
        """Return the value of each column that is named, and that of all others.

        ``value`` checks what was given for columns, which it is told in words; the
        last of several counts. None stands for no value.
        """
        found: dict[str, Any] = {}
        default = None
        for text in self.texts:
            names, rest = self._split(text, columns)
            if names is None:
                default = value(rest, "")
            else:
                found |= {name: value(rest, name) for name in names}
        for name, each in self.values:
            check_is_column(name, columns, self.option)
            found[name] = value(each, name)
        return found, default

    def _split(
        self, text: str, columns: Collection[str]
    ) -> tuple[tuple[str, ...] | None, str]:
        """Return the columns before the first = that has columns before it."""
        places = [j for j, sign in enumerate(text) if sign == "="]
        for place in places:
            before = text[:place]
            if before in columns or set(split_list(before)) <= set(columns):
                names = listed_columns([before], columns, self.option)
                return names, text[place + 1 :]
        if places:
            listed_columns([text[: places[0]]], columns, self.option)  # raises
        return None, text

    def __bool__(self) -> bool:
        return bool(self.texts or self.values)
