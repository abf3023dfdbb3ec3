"""
An operator of one's own
========================

An operator proposes what a step may reassign. Any object with ``generate`` is one.
This one lets two people of different clusters change places, which keeps the sizes of
the clusters as they are.
"""

# %%
# ``generate`` gets the assignment and yields ``Proposals``: the group utilities after
# each proposal, and a function that returns its moves. ``move_costs`` shows what a move
# of one person costs a group; ``utilities_after`` computes the exact result of several.

import numpy as np
from sklearn.cluster import KMeans

from rawlsian import Proposals, load_adult, plot_trajectory, traverse


class Swap:
    """Exchange two people, for the good of the group that is worst off now."""

    def __init__(self, n_tried=6):
        self.n_tried = n_tried

    def generate(self, assignment):
        """Yield exchanges of the most promising people of every two clusters."""
        worst = np.argmin(assignment.utilities)
        labels, costs = assignment.labels, assignment.move_costs[:, worst]
        found = []
        for a in range(assignment.n_clusters):
            for b in range(a):
                ours, theirs = (
                    self._cheapest(labels, costs, *pair) for pair in ((a, b), (b, a))
                )
                targets = np.array([b, a])
                found += [(np.array([x, y]), targets) for x in ours for y in theirs]
        after = [assignment.utilities_after(*moves) for moves in found]
        yield Proposals(np.array(after), lambda place: found[place])

    def _cheapest(self, labels, costs, source, target):
        members = np.flatnonzero(labels == source)
        change = costs[source, members] + costs[target, members]
        return members[np.argsort(change)[: self.n_tried]]


# %%
# It is used like the operators of the package, alone or after others.

adult = load_adult(sample=150, random_state=0)
start = KMeans(4, n_init=1, random_state=0).fit_predict(adult.data)
options = {"max_distance": adult.max_distance, "max_iter": 25}
ax = None
for operator in ("R1", Swap()):
    trajectory = traverse(
        adult.data, start, adult.sensitive_features, operator=operator, **options
    )
    name = operator if isinstance(operator, str) else "Swap"
    print(name, trajectory)
    ax = plot_trajectory(trajectory, operator=name, ax=ax)
ax.legend()

# %%
# The sizes of the clusters stayed as they were.

print(np.bincount(start), np.bincount(trajectory.labels))
