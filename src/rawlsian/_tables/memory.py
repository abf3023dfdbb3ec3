"""A table whose rows are all in memory: read, prepared, clustered, audited."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from rawlsian._core.assignment import Assignment
from rawlsian._core.problem import Problem
from rawlsian._engines.memory import InMemoryEngine
from rawlsian._recommend.effects import Served
from rawlsian._recommend.population import MemoryPopulation
from rawlsian._recommend.rules import Clusters
from rawlsian._tables import analysis
from rawlsian._tables.analysis import Progress
from rawlsian._tables.audit_options import AuditOptions
from rawlsian._tables.choosing_k import Choice, try_range
from rawlsian._tables.column import Column
from rawlsian._tables.columns import find
from rawlsian._tables.facts import Facts, Passes, Reason
from rawlsian._tables.fitting import MemoryFit, fit as fit_people
from rawlsian._tables.model import Model
from rawlsian._tables.options import FitOptions, check_start
from rawlsian._tables.outcome import Outcome
from rawlsian._tables.prepare import Prepared, clusters_of, prepare
from rawlsian._tables.request import TableRequest
from rawlsian._tables.serving import UTILITY, ServedBy
from rawlsian._tables.values import Used, as_category
from rawlsian._tables.write import MemoryLabels, checked_cells
from rawlsian.metrics.audit import Audit, audit_by_centers, audit_of


@dataclass(frozen=True, eq=False)
class MemoryTable:
    """Prepared rows of a table; not the table itself, which would stay in memory.

    Attributes
    ----------
    name, how : str
        Name and format of the table.
    n_rows, n_columns : int
        Its size.
    sensitive : tuple of str
        The columns that make the groups.
    prepared : Prepared
        The encoded rows.
    identifier : Column or None
        Column that names the rows.
    clusters : Used or None
        Column of clusters: those of an audit, or those to begin from.
    weight : str or None
        Column of weights.
    cells : pyarrow.Table or None
        The table itself, if clusters are to be appended to it.
    """

    name: str
    how: str
    n_rows: int
    n_columns: int
    sensitive: tuple[str, ...]
    prepared: Prepared
    identifier: Column | None
    clusters: Used | None
    weight: str | None = None
    cells: Any = None

    @classmethod
    def read(cls, request: TableRequest, appends: bool = False) -> MemoryTable:
        """Read and prepare a table; ``appends`` keeps it, to append clusters."""
        table = request.source.read()
        roles = request.roles_in(table.columns)
        clusters = None
        if roles.labels is not None:
            clusters = as_category(find(table, roles.labels, roles.labels_option))
        prepared = prepare(table, roles, clusters, request.features)
        noticed = (column.name for column in prepared.unused if column.is_identifier)
        found = roles.identifier or next(noticed, None)
        identifier = None if found is None else table.columns[found]
        return cls(
            request.source.name, table.how, table.n_rows, len(table.columns),
            roles.sensitive, prepared, identifier, clusters, roles.weight,
            checked_cells(table) if appends else None,
        )  # fmt: skip

    @cached_property
    def problem(self) -> Problem:
        """The rows and groups, checked."""
        return analysis.problem_of(self.prepared)

    @property
    def facts(self) -> Facts:
        """Facts about the table."""
        return Facts(
            self.name,
            self.n_rows,
            self.n_columns,
            self.how,
            self.prepared.features,
            self.prepared.unused,
            [Reason(*each) for each in self.prepared.left_out.by_reason()],
            self.prepared.remarks,
            self.prepared.left_out_by_group,
        )

    def fit(self, options: FitOptions, progress: Progress) -> FoundClusters:
        """Compare candidates and choose one, for one number of clusters or the best."""
        choice, start, names = None, None, None
        if self.clusters is not None:
            found, start = clusters_of(self.clusters, self.prepared.rows)
            names = tuple(found)
            check_start(names)
        else:
            choice = self._number(options, progress)
        n_clusters = len(names) if names else self._n_clusters(options, choice)
        numbers = tuple(map(str, range(n_clusters)))
        fitted = fit_people(self.problem, options, start, names or numbers, progress)
        outcome, prepared, identifier = fitted.outcome, self.prepared, self.identifier
        model = Model(
            prepared.features, outcome.result.centers, self.sensitive,
            outcome.max_distance, options.method or outcome.result.key,
            None if identifier is None else identifier.name, names,
            prepared.group_readings, self.weight,
        )  # fmt: skip
        labels = MemoryLabels(
            self.n_rows, identifier, prepared.rows, prepared.left_out,
            fitted.after.labels.astype(np.int32), names, self.cells,
            fitted.before.labels.astype(np.int32),
        )  # fmt: skip
        return FoundClusters(
            outcome, model, labels, choice, None, FitInMemory(self, fitted, choice)
        )

    def _number(self, options: FitOptions, progress: Progress) -> Choice | None:
        """Try the numbers of clusters, if there are several."""
        assert options.numbers is not None
        analysis.check_clusters(max(options.numbers), self.problem)
        if len(options.numbers) == 1:
            return None
        return try_range(
            self.problem, options.numbers, options.choose_by, options.seed, progress
        )[0]

    def _n_clusters(self, options: FitOptions, choice: Choice | None) -> int:
        assert options.numbers is not None
        return options.numbers[0] if choice is None else choice.n_clusters

    def audit(self, options: AuditOptions, progress: Progress) -> FoundAudit:
        """Audit the column of clusters, or centers that are given."""
        progress("auditing", 0, None)
        served_by, seed, least = options.served_by, options.seed, options.min_group
        problem = replace(self.problem, utility=UTILITY[served_by])
        engine = InMemoryEngine(problem)
        if options.centers is not None:
            names, centers = options.named_centers(self.prepared.features)
            result = audit_by_centers(
                engine, centers, min_group=least, random_state=seed
            )
            clusters = Clusters(centers)
        else:
            assert self.clusters is not None
            names, codes = clusters_of(self.clusters, self.prepared.rows)
            result = audit_of(engine, codes, min_group=least, random_state=seed)
            means = Assignment(problem, codes).centers
            clusters = Clusters(means, codes if served_by == "members" else None)
        served = MemoryPopulation(problem, least).served(clusters)
        shown = AuditInMemory(self, result, names, served_by, served)
        return FoundAudit(result, names, served_by, shown)


class FitInMemory(NamedTuple):
    """A fit of a table in memory, with what its page draws."""

    table: MemoryTable
    fitted: MemoryFit
    choice: Choice | None


class AuditInMemory(NamedTuple):
    """An audit of rows in memory, with what its page draws.

    ``served`` has the cluster that serves each row, its own or that of the nearest
    center, and the squared distance to what serves it.
    """

    table: MemoryTable
    audit: Audit
    clusters: list[str]
    served_by: ServedBy
    served: Served


class FoundClusters(NamedTuple):
    """Result of a fit, wherever the rows are.

    ``labels`` can be saved, and read back; ``choice`` is None unless there was a range
    of numbers of clusters, ``in_memory`` for a table in parts, and ``passes`` for one
    in memory.
    """

    outcome: Outcome
    model: Model
    labels: Any
    choice: Choice | None
    passes: Passes | None
    in_memory: FitInMemory | None


class FoundAudit(NamedTuple):
    """Result of an audit, wherever the rows are."""

    audit: Audit
    clusters: list[str]
    served_by: ServedBy
    in_memory: AuditInMemory | None
