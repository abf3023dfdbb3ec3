"""A table whose rows are all in memory: read, prepared, clustered, audited."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rawlsian._core.assignment import Assignment
from rawlsian._core.nearest import nearest
from rawlsian._core.parameters import PoolingStrength
from rawlsian._core.problem import Problem, Utility
from rawlsian._engines.memory import InMemoryEngine
from rawlsian._estimators.pooling_cv import choose_pooling
from rawlsian._tables import analysis
from rawlsian._tables.analysis import Fitted, Outcome, Progress, TradeOff
from rawlsian._tables.choosing_k import Choice, try_range
from rawlsian._tables.columns import Used, as_category, find
from rawlsian._tables.facts import Facts, Passes, Reason
from rawlsian._tables.model import Model
from rawlsian._tables.new_people import NewPeople, expect
from rawlsian._tables.options import FitOptions
from rawlsian._tables.prepare import Prepared, clusters_of, prepare
from rawlsian._tables.read import Column
from rawlsian._tables.request import TableRequest
from rawlsian._tables.write import MemoryLabels
from rawlsian.metrics.audit import Audit, audit_of


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
        Column of clusters, of an audit.
    """

    name: str
    how: str
    n_rows: int
    n_columns: int
    sensitive: tuple[str, ...]
    prepared: Prepared
    identifier: Column | None
    clusters: Used | None

    @classmethod
    def read(cls, request: TableRequest) -> MemoryTable:
        """Read and prepare a table."""
        table, roles = request.source.read(), request.roles
        clusters = None
        if roles.labels is not None:
            clusters = as_category(find(table, roles.labels, "--labels"))
        prepared = prepare(table, roles, request.when_missing, clusters)
        noticed = (column.name for column in prepared.unused if column.is_identifier)
        found = roles.identifier or next(noticed, None)
        identifier = None if found is None else table.columns[found]
        return cls(
            request.source.name, table.how, table.n_rows, len(table.columns),
            roles.sensitive, prepared, identifier, clusters,
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
        )

    def fit(self, options: FitOptions, progress: Progress) -> FoundClusters:
        """Run k-means, then the method, with one number of clusters or the best."""
        problem, numbers, seed = self.problem, options.numbers, options.seed
        analysis.check_clusters(max(numbers), problem)
        choice: Choice | None = None
        if len(numbers) > 1:
            choice, before = try_range(
                problem, numbers, options.choose_by, seed, progress
            )
        else:
            progress("k-means", 0, None)
            before = analysis.plain(problem, numbers[0], seed)
        pooling = self._strength(options.pooling, len(before.centers), seed, progress)
        fitted = analysis.fit(
            problem, before, options.method, options.utility, pooling, seed, progress
        )
        prepared, identifier = self.prepared, self.identifier
        after = fitted.after
        model = Model(
            prepared.features, after.centers, self.sensitive, problem.max_distance,
            options.method, None if identifier is None else identifier.name,
        )  # fmt: skip
        labels = MemoryLabels(
            self.n_rows, identifier, prepared.rows, prepared.left_out, after.labels
        )
        new_people = None
        if options.for_new_people and not fitted.is_interrupted:
            new_people = self._new_people(fitted, seed, progress)
        return FoundClusters(
            fitted.outcome, model, labels, choice, new_people, None,
            FitInMemory(self, fitted, seed, choice, new_people),
        )  # fmt: skip

    def _strength(
        self, pooling: PoolingStrength, n_clusters: int, seed: int, progress: Progress
    ) -> float:
        """Return the strength of pooling, chosen if it is "cv"."""
        if pooling != "cv":
            return float(pooling)
        progress("choosing the pooling", 0, None)
        choice = choose_pooling(self.problem, n_clusters, np.random.RandomState(seed))
        return 0.0 if choice is None else choice.strength

    def _new_people(
        self, fitted: Fitted, seed: int, progress: Progress
    ) -> NewPeople | None:
        """Measure people who are left out; Ctrl-C goes on without that."""
        progress("people who are left out", 0, None)
        try:
            return expect(
                self.problem, fitted.before, fitted.after, fitted.method,
                fitted.utility, fitted.pooling, seed,
            )  # fmt: skip
        except KeyboardInterrupt:
            return None

    def audit(self, utility: Utility, seed: int, progress: Progress) -> FoundAudit:
        """Audit the column of clusters."""
        assert self.clusters is not None
        names, codes = clusters_of(self.clusters, self.prepared.rows)
        progress("auditing", 0, None)
        problem = replace(self.problem, utility=utility)
        result = audit_of(InMemoryEngine(problem), codes, random_state=seed)
        if utility == "nearest":
            codes = nearest(problem.X, Assignment(problem, codes).centers)[0]
        return FoundAudit(result, names, AuditInMemory(self, result, names, codes))


@dataclass(frozen=True, eq=False)
class FitInMemory:
    """A fit of rows in memory; trade-off and cloud are searched when asked for."""

    table: MemoryTable
    fitted: Fitted
    seed: int
    choice: Choice | None
    new_people: NewPeople | None

    @cached_property
    def trade_off(self) -> TradeOff:
        """Clusterings between the best k-means and the best for the worst-off."""
        fitted = self.fitted
        return analysis.trade_off(
            self.table.problem, fitted.before, fitted.pooling, self.seed
        )

    @cached_property
    def cloud(self) -> NDArray[np.float64]:
        """Group utilities of k-means from many random starts."""
        return analysis.cloud(self.table.problem, self.fitted.n_clusters, self.seed)


class AuditInMemory(NamedTuple):
    """An audit of rows in memory, with what its page draws.

    ``labels`` are the clusters that serve each row: its own, or that of the nearest
    mean.
    """

    table: MemoryTable
    audit: Audit
    clusters: list[str]
    labels: NDArray[np.int32]


class FoundClusters(NamedTuple):
    """Result of a fit, wherever the rows are.

    ``labels`` can be saved, and read back; ``choice`` is None unless there was a range
    of numbers of clusters, ``new_people`` unless it was measured, ``in_memory`` for a
    table in parts, and ``passes`` for one in memory.
    """

    outcome: Outcome
    model: Model
    labels: Any
    choice: Choice | None
    new_people: NewPeople | None
    passes: Passes | None
    in_memory: FitInMemory | None


class FoundAudit(NamedTuple):
    """Result of an audit, wherever the rows are."""

    audit: Audit
    clusters: list[str]
    in_memory: AuditInMemory | None
