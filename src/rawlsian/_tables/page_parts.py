"""What the pages of a fit and of an audit have in common."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from datetime import date
from itertools import starmap

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from rawlsian._recommend.effects import Served
from rawlsian._tables.facts import Reason, by_group_sentence
from rawlsian._tables.memory import MemoryTable
from rawlsian._tables.prepare import Prepared
from rawlsian._tables.write import free_name
from rawlsian._version import __version__
from rawlsian.preprocessing.reading import SCALES
from rawlsian.report import GroupFit
from rawlsian.report.words import utility_paragraph

SEPARATION = (
    "Separation is the index of dissimilarity: the sum over clusters and groups of "
    "n_c |p_cg - p_g|, divided by 2 N times the sum of p_g (1 - p_g). n_c is the size "
    "of a cluster, N that of all, p_cg the share of a group in the cluster, p_g its "
    "share of everyone. 0: every cluster has the same mix. 1: one group in each."
)
CONFIDENCE = 0.95
WEIGHTED = (
    "Rows are weighted: people on this page are sums of weights, and means count them. "
    "Only the dots of the map, and a silhouette if there is one, count rows."
)


def rows_of(table: MemoryTable) -> dict[str, object]:
    """Return what a page needs to know of the rows, their groups and names."""
    prepared, problem, identifier = table.prepared, table.problem, table.identifier
    names, header = None, "id"
    if identifier is not None:
        texts = np.append(identifier.texts(), "")
        names = tuple(texts[identifier.codes[prepared.rows]])
        header = free_name(identifier.name, ["row", "cluster"])
    return {
        "groups": tuple(problem.group_names),
        "group_codes": problem.groups,
        "max_distance": problem.max_distance,
        "X": prepared.X,
        "attributes": prepared.attributes,
        "weights": prepared.weights,
        "row_header": header,
        "row_names": names,
        "row_numbers": prepared.rows + 1,
        "notes": notes_of(prepared),
        "separation_text": SEPARATION,
    }


def provenance(
    table: MemoryTable, columns: str, more: Sequence[tuple[str, str]]
) -> tuple[tuple[str, str], ...]:
    """Return where the page comes from: rows, columns, options, command, date."""
    prepared, features = table.prepared, table.prepared.features
    return (
        ("Rows", f"{table.n_rows:,}"),
        ("Rows used", f"{len(prepared.rows):,}"),
        (columns, ", ".join(f"{each.name} ({each.words})" for each in features)),
        *more,
        ("Version", f"rawlsian {__version__}"),
        ("Command", command()),
        ("Date", date.today().isoformat()),
    )


def utility_text(prepared: Prepared, max_distance: float) -> str:
    """Return the paragraph on utility, with the scales of the columns."""
    numbers = [each for each in prepared.features if each.levels is None]
    scales = {each.name: each.reading.scale for each in numbers}
    is_by_range = all(scale == "range" for scale in scales.values())
    return utility_paragraph(
        max_distance,
        scales=None if is_by_range else {n: SCALES[s] for n, s in scales.items()},
        some_count_twice=any(each.fill is not None for each in prepared.features),
    )


def command() -> str:
    """Return the command that made the page, or that Python did."""
    program, *arguments = sys.argv
    if program.endswith(("rawlsian", "rawlsian/__main__.py", "rawlsian.exe")):
        return shlex.join(["rawlsian", *arguments])
    return "from Python"


def group_fits(
    table: MemoryTable,
    before: Served,
    after: Served | None,
    is_small: NDArray[np.bool_],
) -> tuple[GroupFit, ...]:
    """Return each group's mean squared distance, with intervals; everyone is 100."""
    problem = table.problem
    everyone = float(np.average(before.distances, weights=problem.weights))
    fits = []
    for g, name in enumerate(problem.group_names):
        rows = problem.groups == g
        people = round(float(problem.people[g]))
        ends = [
            (None, None) if each is None
            else mean_interval(each.distances[rows], problem.weights[rows], everyone)
            for each in (before, after)
        ]  # fmt: skip
        (first, first_ends), (last, last_ends) = ends
        assert first is not None
        small = bool(is_small[g])
        fits.append(
            GroupFit(
                str(name), people, first, None if small else first_ends, last,
                None if small else last_ends, small,
            )
        )  # fmt: skip
    return tuple(fits)


def mean_interval(
    distances: NDArray[np.float64], weights: NDArray[np.float64], everyone: float
) -> tuple[float, tuple[float, float] | None]:
    """Return a mean and its interval by Student's distribution; everyone is 100.

    Weighted rows count as their effective number, the square of the sum of the weights
    divided by the sum of their squares.
    """
    unit = 100 / everyone if everyone > 0 else 0.0
    mean = float(np.average(distances, weights=weights))
    n_rows = float(weights.sum() ** 2 / (weights**2).sum())
    if n_rows < 1 + 1e-9:
        return unit * mean, None
    variance = float(np.average((distances - mean) ** 2, weights=weights))
    error = (variance / (n_rows - 1)) ** 0.5
    reach = float(stdtrit(n_rows - 1, (1 + CONFIDENCE) / 2)) * error
    return unit * mean, (unit * (mean - reach), unit * (mean + reach))


def notes_of(prepared: Prepared) -> tuple[tuple[str, tuple[str, ...]], ...]:
    lists = {
        "Worth knowing": [
            *prepared.remarks,
            *([] if prepared.weights is None else [WEIGHTED]),
        ],
        "Columns that were left out": [
            f"{column.name}: {column.reason}" for column in prepared.unused
        ],
        "Rows that were left out": [
            f"{each.reason}: {each.where}"
            for each in starmap(Reason, prepared.left_out.by_reason())
        ]
        + by_group_sentence(prepared.left_out_by_group),
    }
    return tuple((head, tuple(lines)) for head, lines in lists.items() if lines)
