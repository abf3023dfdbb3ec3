"""Lloyd's algorithm, many runs side by side: compiled, and shaped for vectors.

Several runs are in hand at once, each in a slot; when one has converged, the next takes
its slot. Whatever there is per cluster lies with the slots innermost, at
``lane = c * n_slots + slot``, and centers and sums at ``[j, lane]``: so an entry of a
row meets every center of every slot in one sweep over contiguous numbers. No slot ever
reads another's numbers, so that a run's result does not depend on its company.

Rows are read as their non-zero entries, since one-hot rows are mostly zeros: row i has
``values[entry]`` in column ``columns[entry]`` for entry from ``ends[i]`` up to
``ends[i + 1]``. A zero makes their number even where it is odd: they are met in twos.
Rows come sorted, so that many begin with the same ``shared[i]`` twos as the row before;
what these add up to is kept from one row to the next.

Bounds that tell which rows cannot have changed cluster (Hamerly, 2010) were tried. They
spare less than half of the rows in the ten iterations that a run of this kind takes,
and do not go with slots, which spare more.

Numba's cache looks at the file of a function only, so that no compiled function of
another file is called.
"""

import numpy as np

from rawlsian._kernels import _njit

# A difference of this share of what it was taken from has lost three digits.
CANCELLED = 1e-3


@_njit
def count_entries(X, shift, rows, ends):
    """Where the entries of each row of X[rows] - shift end.  OUT: ends."""
    ends[0] = 0
    for i in range(rows.shape[0]):
        n_entries = 0
        for j in range(X.shape[1]):
            if X[rows[i], j] != shift[j]:
                n_entries += 1
        ends[i + 1] = ends[i] + n_entries + n_entries % 2


@_njit
def list_entries(X, shift, rows, order, ends, columns, values, shared):
    """The entries of X[rows] - shift, those of a row with its columns in this order.

    OUT: columns, values, both given as zeros; shared, how many twos of entries a row
    has in common with the row before.
    """
    for i in range(rows.shape[0]):
        entry = ends[i]
        for j in order:
            if X[rows[i], j] != shift[j]:
                columns[entry] = j
                values[entry] = X[rows[i], j] - shift[j]
                entry += 1
        shared[i] = 0
        if i == 0:
            continue
        here, before = ends[i], ends[i - 1]
        n_common = min(ends[i + 1] - here, here - before)
        while shared[i] * 2 < n_common and (
            columns[here] == columns[before]
            and values[here] == values[before]
            and columns[here + 1] == columns[before + 1]
            and values[here + 1] == values[before + 1]
        ):
            shared[i] += 1
            here += 2
            before += 2


@_njit
def distinct_rows(draws, rows):
    """Turn draws[run, t] from 0 to n - t - 1 into different rows from 0 to n - 1.

    The t-th draw counts the rows that were not drawn before.  OUT: rows.
    """
    n_runs, n_drawn = draws.shape
    taken = np.empty(n_drawn, np.int64)  # sorted
    for run in range(n_runs):
        for t in range(n_drawn):
            row, before = draws[run, t], 0
            while before < t and taken[before] <= row:
                row += 1
                before += 1
            for later in range(t, before, -1):
                taken[later] = taken[later - 1]
            taken[before] = row
            rows[run, t] = row


@_njit
def nearest_centers(
    shared, ends, columns, values, i, half_norms, centers, partial, best, nearest
):
    """The nearest center of row i in each slot; ties go to the lower cluster.

    That is the c with the highest score x.m - |m|^2 / 2, of which partial[level] has
    what the first twos of entries add up to.
    OUT: partial, which must be left as it is for the next row; best, nearest.
    """
    n_lanes, n_slots = partial.shape[1], nearest.shape[0]
    level = shared[i]
    if level == 0:
        for lane in range(n_lanes):
            partial[0, lane] = -half_norms[lane]
    for entry in range(ends[i] + 2 * level, ends[i + 1], 2):
        a, b = columns[entry], columns[entry + 1]
        value_a, value_b = values[entry], values[entry + 1]
        for lane in range(n_lanes):
            partial[level + 1, lane] = partial[level, lane] + (
                value_a * centers[a, lane] + value_b * centers[b, lane]
            )
        level += 1
    for slot in range(n_slots):
        best[slot] = partial[level, slot]
        nearest[slot] = 0
    for c in range(1, n_lanes // n_slots):
        for slot in range(n_slots):
            score, highest = partial[level, c * n_slots + slot], best[slot]
            nearest[slot] = c if score > highest else nearest[slot]
            best[slot] = score if score > highest else highest


@_njit
def assign_rows(
    shared, ends, columns, values, half_norms, centers, labels, sizes, sums, n_changed
):
    """Put each row in its nearest cluster, in every slot, and keep the sums up.

    A label of -1 says that the row is in no cluster yet.
    OUT: labels, sizes, sums; n_changed, how many rows changed cluster in each slot.
    """
    n_lanes, n_slots = half_norms.shape[0], n_changed.shape[0]
    most_entries = 0
    for i in range(labels.shape[0]):
        most_entries = max(most_entries, ends[i + 1] - ends[i])
    partial, best = np.empty((most_entries // 2 + 1, n_lanes)), np.empty(n_slots)
    nearest = np.empty(n_slots, np.int32)
    n_changed[:] = 0
    for i in range(labels.shape[0]):
        nearest_centers(
            shared, ends, columns, values, i, half_norms, centers, partial, best,
            nearest,
        )  # fmt: skip
        for slot in range(n_slots):
            old, new = labels[i, slot], nearest[slot]
            if new == old:
                continue
            labels[i, slot] = new
            n_changed[slot] += 1
            # Unsigned, or each use would look whether it counts from the end.
            enter = np.uint64(new * n_slots + slot)
            sizes[enter] += 1.0
            for entry in range(ends[i], ends[i + 1]):
                sums[columns[entry], enter] += values[entry]
            if old < 0:
                continue
            leave = np.uint64(old * n_slots + slot)
            sizes[leave] -= 1.0
            for entry in range(ends[i], ends[i + 1]):
                sums[columns[entry], leave] -= values[entry]


@_njit
def place_centers(sizes, sums, half_norms, centers):
    """Move the centers to the means of their clusters; NaN for an empty one.

    OUT: half_norms, centers.
    """
    n_features, n_lanes = sums.shape
    half_norms[:] = 0.0
    for j in range(n_features):
        for lane in range(n_lanes):
            mean = sums[j, lane] / sizes[lane]
            centers[j, lane] = mean
            half_norms[lane] += 0.5 * mean * mean


@_njit
def start_run(
    ends, columns, values, starts, given, run, slot,
    labels, sizes, sums, half_norms, centers,
):  # fmt: skip
    """Put the initial centers of a run and no row into a slot.

    They are given[run], or the rows starts[run] where none are given.
    OUT: labels, sizes, sums, half_norms, centers, all of this slot.
    """
    n_features, n_slots = centers.shape[0], labels.shape[1]
    labels[:, slot] = -1
    for c in range(starts.shape[1]):
        lane = c * n_slots + slot
        sizes[lane] = half_norms[lane] = 0.0
        for j in range(n_features):
            sums[j, lane] = 0.0
            centers[j, lane] = given[run, c, j] if len(given) > 0 else 0.0
        if len(given) == 0:
            i = starts[run, c]
            for entry in range(ends[i], ends[i + 1]):
                centers[columns[entry], lane] += values[entry]
        for j in range(n_features):
            half_norms[lane] += 0.5 * centers[j, lane] ** 2


@_njit
def squared_distances(ends, columns, values, labels, slot, centers):
    """|x - m|^2 of each row and the center of its cluster; exactly 0 on the center."""
    n_samples, n_slots = labels.shape
    distances = np.zeros(n_samples)
    row = np.zeros(centers.shape[0])
    for i in range(n_samples):
        lane = labels[i, slot] * n_slots + slot
        for entry in range(ends[i], ends[i + 1]):
            row[columns[entry]] += values[entry]
        for j in range(centers.shape[0]):
            distances[i] += (row[j] - centers[j, lane]) ** 2
        for entry in range(ends[i], ends[i + 1]):
            row[columns[entry]] = 0.0
    return distances


@_njit
def fill_empty(ends, columns, values, labels, slot, sizes, sums, centers, half_norms,
               means):  # fmt: skip
    """Place the centers of a slot in which a cluster is empty, as scikit-learn does.

    The first empty cluster gets the row farthest from its center, the next the next
    farthest; the rows keep their labels until rows are assigned again. What is empty
    even so (fewer different rows than clusters) goes to the largest cluster's mean.
    IN: centers, from which the labels come. OUT: half_norms, means of this slot.
    """
    n_slots = labels.shape[1]
    lanes = np.arange(slot, sizes.shape[0], n_slots)
    lent_sizes, lent_sums = sizes[lanes], sums[:, lanes]
    distances = squared_distances(ends, columns, values, labels, slot, centers)
    if distances.max() > 0.0:
        for c in np.flatnonzero(lent_sizes == 0.0):
            far = np.argmax(distances)
            distances[far] = -1.0
            source = labels[far, slot]
            lent_sizes[c] += 1.0
            lent_sizes[source] -= 1.0
            for entry in range(ends[far], ends[far + 1]):
                lent_sums[columns[entry], c] += values[entry]
                lent_sums[columns[entry], source] -= values[entry]
    for c in range(lanes.shape[0]):
        source = c if lent_sizes[c] > 0.0 else np.argmax(lent_sizes)
        half_norms[lanes[c]] = 0.0
        for j in range(means.shape[0]):
            mean = lent_sums[j, source] / lent_sizes[source]
            means[j, lanes[c]] = mean
            half_norms[lanes[c]] += 0.5 * mean * mean


@_njit
def mean_costs(ends, columns, values, norms, groups, labels, counts, sums, costs, run):
    """Mean squared distance of each group to the means of the clusters.

    Afresh from the labels, so that nothing of what rounding did on the way is in it:
    with counts n, sums S and squares Q of a group and m the mean of a cluster,
    Q + sum_c (n m.m - 2 m.S). Where that cancels most digits, distances are added up.
    OUT: costs[run]; counts (n_clusters, n_groups) and sums (d, n_clusters, n_groups).
    """
    n_features, n_clusters, n_groups = sums.shape
    squares, means = np.zeros(n_groups), np.zeros((n_features, n_clusters))
    counts[:] = 0.0
    sums[:] = 0.0
    for i in range(labels.shape[0]):
        c, g = labels[i], groups[i]
        counts[c, g] += 1.0
        squares[g] += norms[i]
        for entry in range(ends[i], ends[i + 1]):
            sums[columns[entry], c, g] += values[entry]
    costs[run] = squares
    for j in range(n_features):
        for c in range(n_clusters):
            size = total = 0.0
            for g in range(n_groups):
                size += counts[c, g]
                total += sums[j, c, g]
            mean = total / size if size > 0.0 else 0.0
            means[j, c] = mean
            for g in range(n_groups):
                costs[run, g] += mean * (counts[c, g] * mean - 2.0 * sums[j, c, g])
    if (costs[run] < CANCELLED * squares).any():
        own = labels.reshape(-1, 1)
        distances = squared_distances(ends, columns, values, own, 0, means)
        costs[run] = 0.0
        for i in range(labels.shape[0]):
            costs[run, groups[i]] += distances[i]
    for g in range(n_groups):
        costs[run, g] /= counts[:, g].sum()


@_njit
def kmeans_runs(
    shared, ends, columns, values, norms, groups, n_features, starts, given, n_slots,
    max_iter, last, costs, n_iter,
):  # fmt: skip
    """Run Lloyd's algorithm from rows, starts of shape (n_runs, n_clusters), or given.

    A run ends when no row changes its cluster, or after max_iter iterations.
    OUT: per run, costs (mean squared distance of each group) and n_iter; last, the
    labels of whichever run ended last.
    """
    n_runs, n_clusters = starts.shape
    entries = (ends, columns, values)
    n_lanes = n_clusters * n_slots
    labels, n_changed = np.empty((last.shape[0], n_slots), np.int32), np.empty(n_slots)
    sizes, sums = np.empty(n_lanes), np.empty((n_features, n_lanes))
    half_norms, means = np.empty(n_lanes), np.empty((n_features, n_lanes))
    centers = np.empty_like(means)
    counts = np.empty((n_clusters, costs.shape[1]))
    group_sums = np.empty((n_features, n_clusters, costs.shape[1]))
    running, age = np.arange(n_slots), np.zeros(n_slots, np.int64)
    for slot in range(n_slots):
        start_run(
            *entries, starts, given, slot, slot,
            labels, sizes, sums, half_norms, centers,
        )  # fmt: skip
    n_started, n_ended = n_slots, 0
    while n_ended < n_runs:
        assign_rows(
            shared, *entries, half_norms, centers, labels, sizes, sums, n_changed
        )
        place_centers(sizes, sums, half_norms, means)
        for slot in range(n_slots):
            run = running[slot]
            age[slot] += 1
            if run < 0:
                continue
            if n_changed[slot] > 0 and age[slot] <= max_iter:
                if sizes[slot::n_slots].min() == 0.0:
                    fill_empty(
                        *entries, labels, slot, sizes, sums, centers, half_norms, means
                    )
                continue
            n_ended += 1
            n_iter[run] = min(age[slot], max_iter)
            for i in range(last.shape[0]):
                last[i] = labels[i, slot]
            mean_costs(*entries, norms, groups, last, counts, group_sums, costs, run)
            running[slot], age[slot] = -1, 0
            if n_started < n_runs:
                start_run(
                    *entries, starts, given, n_started, slot,
                    labels, sizes, sums, half_norms, means,
                )  # fmt: skip
                running[slot] = n_started
                n_started += 1
        centers, means = means, centers
