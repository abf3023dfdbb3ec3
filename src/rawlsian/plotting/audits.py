"""Audits: how far each group is behind everyone else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from rawlsian.metrics import Audit
from rawlsian.plotting.axes import BEHIND, EQUAL, LEVEL, axes_of, plain_numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class HasAudit(Protocol):
    """A result that has an audit, such as ``TableAudit``."""

    @property
    def audit(self) -> Audit:
        """The audit."""


def plot_audit(audit: Audit | HasAudit, *, ax: Axes | None = None) -> Axes:
    """Draw how far each group is behind everyone else, with intervals.

    A dot to the right of the line at 0 is a group that is served worse than everyone
    else; if its whole interval is to the right, chance alone is no explanation. Hollow
    dots are groups of too few people for an interval.

    Parameters
    ----------
    audit : Audit or TableAudit
        The audit to draw, of two groups or more.
    ax : matplotlib Axes, default=None
        Axes to draw on; ``None`` makes a new figure.

    Returns
    -------
    matplotlib Axes
        The axes drawn on; the first group is at the top.

    Examples
    --------
    >>> from rawlsian import audit, plot_audit
    >>> X = [[0.0], [2.0], [4.0], [4.0], [5.0], [6.0]]
    >>> found = audit(X, [0, 0, 1, 1, 1, 1], list("aabbbb"), min_group=2)
    >>> [tick.get_text() for tick in plot_audit(found).get_yticklabels()]
    ['a (2)', 'b (4)']
    """
    audit = _checked(audit)
    ax = axes_of(ax)
    clear = audit.is_clear
    for g, behind in enumerate(audit.behind):
        color = BEHIND if clear[g] else LEVEL
        if not np.isnan(audit.intervals[g]).any():
            ax.hlines(g, *audit.intervals[g], color=color, linewidth=2.5)
        face = "none" if audit.is_small[g] else color
        ax.scatter(behind, g, s=60, facecolors=face, edgecolors=color, zorder=3)
    ax.axvline(0.0, color=EQUAL, linestyle="--", linewidth=1.4, zorder=1)
    names = [
        f"{name} ({size:g}{', too few' if is_small else ''})"
        for name, size, is_small in zip(
            audit.groups.tolist(), audit.sizes, audit.is_small, strict=True
        )
    ]
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.set_xlabel("points behind everyone else (the cost of everyone is 100)")
    return plain_numbers(ax)


def _checked(given: Any) -> Audit:
    """Return the audit; raise ValueError if there is nothing to compare."""
    audit = getattr(given, "audit", given)
    if not isinstance(audit, Audit):
        raise ValueError(
            f"plot_audit draws an Audit, as audit() or audit_table() returns it, got "
            f"{type(given).__name__}."
        )
    if len(audit.groups) == 1:
        raise ValueError(
            f"plot_audit compares groups, but the audit has one group, "
            f"{audit.groups.tolist()[0]!r}; give sensitive_features with two or more."
        )
    return audit
