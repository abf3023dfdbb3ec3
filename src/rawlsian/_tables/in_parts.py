"""A table in parts, whose rows are never all in memory: opened, clustered, audited."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from rawlsian._tables import fit_parts
from rawlsian._tables.analysis import Progress, check_rows
from rawlsian._tables.audit_options import AuditOptions
from rawlsian._tables.backends import Backend, dask_backend, thread_backend
from rawlsian._tables.columns import Roles
from rawlsian._tables.complete import group_order
from rawlsian._tables.facts import Facts, Passes, Reason, group_rows
from rawlsian._tables.fit_parts import EncodedTable
from rawlsian._tables.folder import LabelledPieces
from rawlsian._tables.memory import FoundAudit, FoundClusters
from rawlsian._tables.model import Model
from rawlsian._tables.options import FitOptions
from rawlsian._tables.parts import Parts, Piece, open_parts
from rawlsian._tables.plan import ColumnChoice, choose_columns
from rawlsian._tables.prepare import name_of_group
from rawlsian._tables.request import TableRequest
from rawlsian._tables.serving import UTILITY
from rawlsian._tables.survey import (
    Survey,
    encoding_of,
    remarks_of,
    survey,
    survey_piece,
)
from rawlsian.metrics.audit import audit_by_centers, audit_of, renamed


class PartsTable(NamedTuple):
    """Encoded rows of all parts, where a backend has them.

    Attributes
    ----------
    request : TableRequest
        The table, its columns and the engine.
    parts : Parts
        The files.
    pieces : list of Piece
        Their rows, in pieces.
    choice : ColumnChoice
        Columns, as the first rows show them.
    found : Survey
        Ranges, levels and groups of all rows.
    backend : Backend
        Threads or workers.
    table : EncodedTable
        The encoded rows, and how they are encoded.
    """

    request: TableRequest
    parts: Parts
    pieces: list[Piece]
    choice: ColumnChoice
    found: Survey
    backend: Backend
    table: EncodedTable

    @property
    def facts(self) -> Facts:
        """Facts about the table."""
        first_rows, encoding = self.parts.first_rows, self.table.encoding
        return Facts(
            str(self.request.source.path),
            self.parts.n_rows,
            len(first_rows.columns),
            first_rows.how,
            encoding.features,
            self.choice.unused,
            [
                Reason(reason, each.n_rows, each.first_row, each.path)
                for reason, each in self.found.left_out.items()
            ],
            remarks_of(self.found, encoding, self.parts, self.choice),
            group_rows(
                self.found.groups,
                self.found.lost,
                name_of_group,
                group_order(list(encoding.plan.sensitive.values())),
            ),
        )

    def fit(self, options: FitOptions, progress: Progress) -> FoundClusters:
        """Compare candidates and choose one; the options were checked."""
        assert options.numbers is not None
        n_clusters = options.numbers[0]
        n_rows, encoding = sum(self.found.lengths), self.table.encoding
        check_rows(n_clusters, n_rows)
        fitted = fit_parts.fit(self.table, n_clusters, options, progress)
        outcome = fitted.outcome
        plan = encoding.plan
        model = Model(
            encoding.features, outcome.result.centers, tuple(plan.sensitive),
            encoding.max_distance, options.method or outcome.result.key,
            self.choice.identifier, None, tuple(plan.sensitive.values()),
            None if plan.weight is None else plan.weight[0],
        )  # fmt: skip
        labels = LabelledPieces(
            self.parts, self.pieces, self.found.lengths, self.choice, fitted.labels,
            self.backend,
        )  # fmt: skip
        n_parts = len(self.parts.parts)
        passes = Passes(self.request.engine, n_rows, n_parts, fitted.n_passes)
        return FoundClusters(outcome, model, labels, None, passes, None)

    def audit(self, options: AuditOptions, progress: Progress) -> FoundAudit:
        """Audit the column of clusters, or centers that are given."""
        progress("auditing", 0, None)
        encoding = self.table.encoding
        engine = self.table.engine(utility=UTILITY[options.served_by])
        clusters, least = encoding.clusters, options.min_group
        if options.centers is None:
            result = audit_of(engine, self.table.rows.labels, min_group=least)
        else:
            clusters, centers = options.named_centers(encoding.features)
            result = audit_by_centers(engine, centers, min_group=least)
        names = np.array(encoding.group_names, object)
        result = renamed(result, names)
        return FoundAudit(result, clusters, options.served_by, None)


@contextmanager
def open_in_parts(
    request: TableRequest, files: Sequence[str], progress: Progress
) -> Iterator[PartsTable]:
    """Decide columns by the first rows, start the backend, and encode all rows."""
    texts = request.source.missing_texts
    parts = open_parts(files, texts, request.roles.drop)
    roles = request.roles_in(parts.first_rows.columns)
    choice = choose_columns(parts, roles, texts, request.features)
    if request.engine == "dask":
        progress("starting Dask", 0, None)
    is_local = request.engine == "blocks"
    with thread_backend() if is_local else dask_backend(request.scheduler) as backend:
        yield _encoded(request, parts, roles, choice, backend, progress)


def _encoded(
    request: TableRequest,
    parts: Parts,
    roles: Roles,
    choice: ColumnChoice,
    backend: Backend,
    progress: Progress,
) -> PartsTable:
    """One pass to learn what the columns hold, and another to encode them."""
    pieces = parts.pieces()
    found = survey(
        pieces,
        backend.run(survey_piece, pieces, choice.plan),
        roles.categorical if request.features is None else choice.plan.names,
        lambda done: progress("reading", done, len(pieces)),
    )
    encoding = encoding_of(found, choice, parts.n_rows)
    progress("encoding", 0, None)
    some = [piece for piece, n in zip(pieces, found.lengths, strict=True) if n]
    lengths = [n for n in found.lengths if n]
    table = EncodedTable(backend.encode(some, lengths, encoding), encoding)
    return PartsTable(request, parts, pieces, choice, found, backend, table)
