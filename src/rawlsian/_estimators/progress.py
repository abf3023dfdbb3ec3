"""Printed progress: ``verbose=1`` prints a line per stage, 2 one per step, too."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from rawlsian._core.parameters import PoolingStrength
from rawlsian._engines.engine import Callback, Engine
from rawlsian._outofcore.problem import PassStep
from rawlsian._outofcore.walk import LargeTrajectory
from rawlsian._search.crossing import SearchStep
from rawlsian.operators.traversal import Step, Trajectory

# Groups that are named at most.
MOST_NAMED = 6


def check_verbose(verbose: object) -> None:
    """Raise ValueError unless verbose is a whole number, 0 or more, or a boolean."""
    if not isinstance(verbose, Integral) or int(verbose) < 0:
        raise ValueError(
            f"verbose must be 0 (silent), 1 (a line per stage) or 2 (a line per step), "
            f"got {verbose!r}."
        )


class Progress:
    """Prints what a fit or a walk does, each line with the name of who does it."""

    def __init__(self, name: str, verbose: int) -> None:
        self.name = name
        self.verbose = int(verbose)

    @classmethod
    def of(cls, estimator: Any) -> Progress:
        """Return the progress of an estimator."""
        return cls(type(estimator).__name__, estimator.verbose)

    def stage(self, text: str) -> None:
        """Print the line of a stage, unless silent."""
        if self.verbose >= 1:
            print(f"[{self.name}] {text}", flush=True)

    def opened(self, engine: Engine) -> None:
        """Print the size of the data."""
        names, people = engine.known.group_names.tolist(), engine.known.people
        listed = ", ".join(
            f"{name} ({n:,g})"
            for name, n in zip(names[:MOST_NAMED], people, strict=False)
        )
        more = ", ..." if len(names) > MOST_NAMED else ""
        self.stage(f"data: {people.sum():,g} people: {listed}{more}")

    def pooled(self, asked: PoolingStrength, strength: float) -> None:
        """Print the strength of pooling."""
        chosen = ", chosen by cross-validation" if asked == "cv" else ""
        self.stage(f"pooling: {strength:.6g}{chosen}")

    def walked(self, trajectory: Trajectory | LargeTrajectory) -> None:
        """Print how a walk ended."""
        first, last = (trajectory.utilities[step].min() for step in (0, -1))
        steps = "1 step" if trajectory.n_iter == 1 else f"{trajectory.n_iter} steps"
        self.stage(
            f"{trajectory.stop_reason} after {steps}: lowest utility {first:.6g} -> "
            f"{last:.6g}"
        )

    def bounded(self, estimator: Any) -> None:
        """Print the bound, if there is one."""
        if hasattr(estimator, "bound_"):
            self.stage(f"bound: largest cost of at least {estimator.bound_.cost:.6g}")

    def watch(self, callback: Callback | None) -> Callback | None:
        """Return a callback that prints each step before the user's callback."""
        if self.verbose < 2:
            return callback

        def print_step(step: Any) -> None:
            print(f"[{self.name}] {_line(step)}", flush=True)
            if callback is not None:
                callback(step)

        return print_step


def _line(step: SearchStep | PassStep | Step) -> str:
    """Return the line of a step."""
    if isinstance(step, SearchStep):
        return (
            f"run {step.n_done} of {step.n_runs}: largest cost {step.largest_cost:.6g}"
        )
    if isinstance(step, PassStep):
        return (
            f"pass {step.n_passes} of at most {step.max_passes}: largest cost "
            f"{step.largest_cost:.6g}"
        )
    return (
        f"step {step.n_iter}: lowest utility {step.utilities.min():.6g}, overall "
        f"{step.overall:.6g}, moved {len(step.operation.examples)}"
    )
