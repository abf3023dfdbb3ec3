"""Lloyd's algorithm and Fair-Lloyd, compiled: many runs at once, vectorised.

Several runs proceed together, each in a slot; when one has converged, the next takes
its slot. Arrays per cluster have the slots innermost, at ``lane = c * n_slots + slot``;
centers and sums are at ``[j, lane]``. So an entry of a row is multiplied with every
center of every slot in one loop over contiguous memory. No slot reads the numbers of
another, so the result of a run does not depend on the other runs.

Rows are read as their non-zero entries, listed by ``sparse_rows``. Partial scores of
the pairs of entries that a row shares with the row before are kept between rows.

Hamerly's bounds (2010), which show that some rows cannot have changed cluster, were
tried. They skip less than half of the rows in the ten iterations that such a run
takes, and cannot be combined with slots, which save more.

Numba's cache checks only the file of a function, so no compiled function calls one of
another file. That makes this file longer than 500 lines.
"""

import numpy as np

from rawlsian._support.compile import njit

# A difference this small, relative to its minuend, has lost three digits.
CANCELLED = 1e-3

# Relative distance of the largest mean cost from its minimum for a partition, and the
# least weight of a group: every cluster must have some mass.
FAIR_TOLERANCE = 1e-10
LEAST_WEIGHT = 1e-9

# The tolerance is this times the share of rows that just changed, if that is more:
# their changes move the minimum by more.
ROUGH_TOLERANCE = 1e-3
# With more than two groups, two of them share weight until this is left of the
# difference of their costs: the other groups change it again. After ROUGH_ROUNDS
# nothing is left: with many tiny groups, rough steps may go round in circles.
ROUGHLY, ROUGH_ROUNDS = 0.1, 20


@njit
def nearest_centers(
    shared, ends, columns, values, i, half_norms, centers, partial, best, nearest
):
    """Find the nearest center of row i in each slot; ties go to the lowest cluster.

    nearest = argmax_c x.m - |m|^2 / 2; partial[level] is that score summed over the
    first ``level`` pairs of entries.
    OUT: partial, which must stay unchanged until the next row; best, nearest.
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


@njit
def assign_rows(
    shared, ends, columns, values, weights, groups, half_norms, centers,
    labels, members, counts, sums, n_changed,
):  # fmt: skip
    """Assign each row to its nearest center, in every slot, and update the sums.

    A label of -1 means that the row is in no cluster yet. ``members`` (numbers of
    rows), ``counts`` (sums of weights) and ``sums`` are by group: lanes of group g
    begin at g n_lanes. When the last member leaves, they are set to exactly 0.
    OUT: labels, members, counts, sums; n_changed, rows that changed in each slot.
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
        first, weight = groups[i] * n_lanes, weights[i]
        for slot in range(n_slots):
            old, new = labels[i, slot], nearest[slot]
            if new == old:
                continue
            labels[i, slot] = new
            n_changed[slot] += 1
            # Unsigned, or each use would check for a negative index.
            enter = np.uint64(first + new * n_slots + slot)
            members[enter] += 1
            counts[enter] += weight
            for entry in range(ends[i], ends[i + 1]):
                sums[columns[entry], enter] += weight * values[entry]
            if old < 0:
                continue
            leave = np.uint64(first + old * n_slots + slot)
            members[leave] -= 1
            counts[leave] -= weight
            for entry in range(ends[i], ends[i + 1]):
                sums[columns[entry], leave] -= weight * values[entry]
            if members[leave] == 0:
                counts[leave] = 0.0
                sums[:, leave] = 0.0


@njit
def place_centers(counts, sums, half_norms, centers):
    """Move the centers to the means, sums / counts; NaN for an empty cluster.

    OUT: half_norms, centers.
    """
    n_features, n_lanes = sums.shape
    half_norms[:] = 0.0
    for j in range(n_features):
        for lane in range(n_lanes):
            mean = sums[j, lane] / counts[lane]
            centers[j, lane] = mean
            half_norms[lane] += 0.5 * mean * mean


@njit
def start_run(
    ends, columns, values, starts, given, run, slot,
    labels, members, counts, sums, half_norms, centers,
):  # fmt: skip
    """Start a run in a slot: set its initial centers, and no row in any cluster.

    The centers are given[run], or the rows starts[run] if ``given`` is empty.
    OUT: labels, members, counts, sums, half_norms, centers, of this slot.
    """
    n_features, n_slots = centers.shape[0], labels.shape[1]
    labels[:, slot] = -1
    for lane in range(slot, counts.shape[0], n_slots):
        members[lane], counts[lane] = 0, 0.0
        for j in range(n_features):
            sums[j, lane] = 0.0
    for c in range(starts.shape[1]):
        lane = c * n_slots + slot
        half_norms[lane] = 0.0
        for j in range(n_features):
            centers[j, lane] = given[run, c, j] if len(given) > 0 else 0.0
        if len(given) == 0:
            i = starts[run, c]
            for entry in range(ends[i], ends[i + 1]):
                centers[columns[entry], lane] += values[entry]
        for j in range(n_features):
            half_norms[lane] += 0.5 * centers[j, lane] ** 2


@njit
def squared_distances(ends, columns, values, labels, slot, centers):
    """Return |x - m|^2 of each row to its center; exactly 0 if they are equal."""
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


@njit
def fill_empty(ends, columns, values, labels, slot, counts, sums, centers, half_norms,
               means):  # fmt: skip
    """Compute means in a slot with an empty cluster, as scikit-learn does.

    The first empty cluster gets the row farthest from its center, the next one the
    next farthest; rows keep their labels until the next assignment. A cluster that is
    still empty (fewer distinct rows than clusters) gets the mean of the largest one.
    IN: centers that the labels come from.  OUT: half_norms, means, of this slot.
    """
    n_slots = labels.shape[1]
    lanes = np.arange(slot, counts.shape[0], n_slots)
    lent_counts, lent_sums = counts[lanes], sums[:, lanes]
    distances = squared_distances(ends, columns, values, labels, slot, centers)
    if distances.max() > 0.0:
        for c in np.flatnonzero(lent_counts == 0.0):
            far = np.argmax(distances)
            distances[far] = -1.0
            source = labels[far, slot]
            lent_counts[c] += 1.0
            lent_counts[source] -= 1.0
            for entry in range(ends[far], ends[far + 1]):
                lent_sums[columns[entry], c] += values[entry]
                lent_sums[columns[entry], source] -= values[entry]
    for c in range(lanes.shape[0]):
        source = c if lent_counts[c] > 0.0 else np.argmax(lent_counts)
        half_norms[lanes[c]] = 0.0
        for j in range(means.shape[0]):
            mean = lent_sums[j, source] / lent_counts[source]
            means[j, lanes[c]] = mean
            half_norms[lanes[c]] += 0.5 * mean * mean


@njit
def mean_costs(ends, columns, values, norms, groups, labels, counts, sums, costs, run):
    """Compute the mean squared distance of each group to the means of the clusters.

    Sums are recomputed from the labels, without the rounding of earlier iterations.
    With counts n, sums S and squares Q of a group and the mean m of a cluster, the cost
    is Q + sum_c (n m.m - 2 m.S). If that cancels most digits, distances are summed.
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
    for g in range(n_groups):
        costs[run, g] = squares[g]
    for j in range(n_features):
        for c in range(n_clusters):
            mass = total = 0.0
            for g in range(n_groups):
                mass += counts[c, g]
                total += sums[j, c, g]
            mean = total / mass if mass > 0.0 else 0.0
            means[j, c] = mean
            for g in range(n_groups):
                costs[run, g] += mean * (counts[c, g] * mean - 2.0 * sums[j, c, g])
    is_cancelled = False
    for g in range(n_groups):
        is_cancelled |= costs[run, g] < CANCELLED * squares[g]
    if is_cancelled:
        own = labels.reshape(-1, 1)
        distances = squared_distances(ends, columns, values, own, np.int64(0), means)
        costs[run] = 0.0
        for i in range(labels.shape[0]):
            costs[run, groups[i]] += distances[i]
    for g in range(n_groups):
        costs[run, g] /= counts[:, g].sum()


@njit
def kmeans_runs(
    shared, ends, columns, values, norms, groups, n_features, starts, given, n_slots,
    max_iter, last, costs, n_iter,
):  # fmt: skip
    """Run Lloyd's algorithm from the rows starts[run], or the centers given[run].

    A run ends when no row changes its cluster, or after max_iter iterations.
    IN: starts, of shape (n_runs, n_clusters); given, of shape (n_runs, n_clusters,
    n_features) or empty.  OUT: per run, costs (mean squared distances of the groups)
    and n_iter; last, the labels of the run that ended last.
    """
    n_runs, n_clusters = starts.shape
    entries = (ends, columns, values)
    n_lanes = n_clusters * n_slots
    labels, n_changed = np.empty((last.shape[0], n_slots), np.int32), np.empty(n_slots)
    counts, sums = np.empty(n_lanes), np.empty((n_features, n_lanes))
    members = np.empty(n_lanes, np.int64)
    half_norms, means = np.empty(n_lanes), np.empty((n_features, n_lanes))
    centers = np.empty_like(means)
    group_counts = np.empty((n_clusters, costs.shape[1]))
    group_sums = np.empty((n_features, n_clusters, costs.shape[1]))
    weights, one_group = np.ones(last.shape[0]), np.zeros(last.shape[0], np.int32)
    running, age = np.arange(n_slots), np.zeros(n_slots, np.int64)
    for slot in range(n_slots):
        start_run(
            *entries, starts, given, slot, slot,
            labels, members, counts, sums, half_norms, centers,
        )  # fmt: skip
    n_started, n_ended = n_slots, 0
    while n_ended < n_runs:
        assign_rows(
            shared, *entries, weights, one_group, half_norms, centers,
            labels, members, counts, sums, n_changed,
        )  # fmt: skip
        place_centers(counts, sums, half_norms, means)
        for slot in range(n_slots):
            run = running[slot]
            age[slot] += 1
            if run < 0:
                continue
            if n_changed[slot] > 0 and age[slot] <= max_iter:
                if counts[slot::n_slots].min() == 0.0:
                    fill_empty(
                        *entries, labels, slot, counts, sums, centers, half_norms, means
                    )
                continue
            n_ended += 1
            n_iter[run] = min(age[slot], max_iter)
            for i in range(last.shape[0]):
                last[i] = labels[i, slot]
            mean_costs(
                *entries, norms, groups, last, group_counts, group_sums, costs, run
            )
            running[slot], age[slot] = -1, 0
            if n_started < n_runs:
                start_run(
                    *entries, starts, given, n_started, slot,
                    labels, members, counts, sums, half_norms, means,
                )  # fmt: skip
                running[slot] = n_started
                n_started += 1
        centers, means = means, centers


# --- Fair centers ---
#
# Each slot has group weights lambda on the simplex. The centers that minimise
# sum_g lambda_g (mean cost of g) are the means in which a row of group g weighs
# lambda_g / N_g. The minimum is concave in lambda; the largest mean cost is least at
# the lambda that maximises it (Ghadiri, Samadi and Vempala, 2021).


@njit
def multiply_sums(sums, dots):
    """dots[g, h, lane] = S_g . S_h, for h up to g.  OUT: dots."""
    n_groups, _, n_lanes = dots.shape
    dots[:] = 0.0
    for j in range(sums.shape[0]):
        for g in range(n_groups):
            for h in range(g + 1):
                a, b = g * n_lanes, h * n_lanes
                for lane in range(n_lanes):
                    dots[g, h, lane] += sums[j, a + lane] * sums[j, b + lane]


@njit
def pool_groups(own, everyone, counts, dots, pooled_counts, pooled_dots):
    """Mix counts and dots: each row counts own in its group, everyone in every group.

    A pooled group has the count own n_g + everyone sum_h n_h, and the same of its sum.
    OUT: pooled_counts, pooled_dots.
    """
    n_groups, _, n_lanes = dots.shape
    rows = np.empty(n_groups)  # of the matrix S_g . S_h, summed
    for lane in range(n_lanes):
        mass = whole = 0.0
        for g in range(n_groups):
            mass += counts[g * n_lanes + lane]
            rows[g] = 0.0
            for h in range(n_groups):
                rows[g] += dots[max(g, h), min(g, h), lane]
            whole += rows[g]
        for g in range(n_groups):
            place = g * n_lanes + lane
            pooled_counts[place] = own * counts[place] + everyone * mass
            for h in range(g + 1):
                both = own * dots[g, h, lane] + everyone * (rows[g] + rows[h])
                pooled_dots[g, h, lane] = own * both + everyone * everyone * whole


@njit
def set_pull(own, everyone, group_weights, group_sizes, slot, n_slots, pull):
    """Set how much a row of each group counts in the centers.  OUT: pull."""
    n_groups = len(group_sizes)
    n_lanes, shared = len(pull) // n_groups, 0.0
    for g in range(n_groups):
        shared += everyone * group_weights[g] / group_sizes[g]
    for lane in range(slot, len(pull), n_slots):
        g = lane // n_lanes
        pull[lane] = own * group_weights[g] / group_sizes[g] + shared


@njit
def group_costs(
    group_weights, slot, n_slots, group_sizes, squares, counts, dots, costs
):
    """Compute the mean cost of each group at the centers of these group weights.

    With z = sum_g a_g S_g / sum_g a_g n_g and a_g = lambda_g / N_g, the cost of g in a
    cluster is Q_g - 2 z.S_g + n_g z.z.  OUT: costs.
    """
    n_groups, _, n_lanes = dots.shape
    share = group_weights / group_sizes  # a_g
    for g in range(n_groups):
        costs[g] = squares[g]
    for lane in range(slot, n_lanes, n_slots):
        mass = norm = 0.0
        for g in range(n_groups):
            mass += share[g] * counts[g * n_lanes + lane]
        if mass <= 0.0:
            continue
        for g in range(n_groups):
            dot = 0.0
            for h in range(g + 1):
                dot += share[h] * dots[g, h, lane]
            for h in range(g + 1, n_groups):
                dot += share[h] * dots[h, g, lane]
            norm += share[g] * dot
            costs[g] -= 2.0 * dot / mass
        for g in range(n_groups):
            costs[g] += counts[g * n_lanes + lane] * norm / (mass * mass)
    for g in range(n_groups):
        costs[g] = max(costs[g] / group_sizes[g], 0.0)  # rounding can leave -1e-16


@njit
def shift_weight(
    giver, taker, slot, n_slots, group_sizes, squares, counts, dots, tolerance,
    group_weights, costs,
):  # fmt: skip
    """Move weight from one group to another until their costs are equal.

    The taker costs more. The difference falls as weight moves, so this is root
    finding: false position with the Illinois rule.  OUT: group_weights, costs.
    """
    whole = group_weights[giver] + group_weights[taker]
    low, high = group_weights[taker], whole - LEAST_WEIGHT
    at_low, at_high, side = costs[taker] - costs[giver], 0.0, 0
    for step in range(100):
        at = high
        if step > 0:
            at = (low * at_high - high * at_low) / (at_high - at_low)
        if not low < at <= high:
            at = 0.5 * (low + high)
        group_weights[taker], group_weights[giver] = at, whole - at
        group_costs(
            group_weights, slot, n_slots, group_sizes, squares, counts, dots, costs
        )
        difference = costs[taker] - costs[giver]
        if abs(difference) <= tolerance * costs[taker] or high - low < 1e-15:
            return
        if difference > 0.0:
            if step == 0:  # all of the weight is not enough
                return
            low, at_low = at, difference
            at_high *= 0.5 if side == 1 else 1.0
            side = 1
        else:
            high, at_high = at, difference
            at_low *= 0.5 if side == -1 and step > 0 else 1.0
            side = -1


@njit
def spread_of_costs(group_weights, costs):
    """Return the largest cost less the weighted mean cost of groups with weight."""
    mean = whole = 0.0
    for g in range(len(costs)):
        if group_weights[g] > 2.0 * LEAST_WEIGHT:
            mean += group_weights[g] * costs[g]
            whole += group_weights[g]
    return costs.max() - mean / whole


@njit
def cost_slopes(group_weights, slot, n_slots, group_sizes, counts, dots, slopes):
    """slopes[g, h] = derivative of the mean cost of g in the weight of h.

    With v_g = S_g - n_g z and the mass M of a cluster, it is the sum over clusters of
    -2 v_g.v_h / (M N_g N_h).  OUT: slopes.
    """
    n_groups, _, n_lanes = dots.shape
    slopes[:] = 0.0
    toward = np.empty(n_groups)  # z.S_g
    share = group_weights / group_sizes
    for lane in range(slot, n_lanes, n_slots):
        mass = norm = 0.0
        for g in range(n_groups):
            mass += share[g] * counts[g * n_lanes + lane]
        if mass <= 0.0:
            continue
        for g in range(n_groups):
            toward[g] = 0.0
            for h in range(g + 1):
                toward[g] += share[h] * dots[g, h, lane]
            for h in range(g + 1, n_groups):
                toward[g] += share[h] * dots[h, g, lane]
            toward[g] /= mass
            norm += share[g] * toward[g] / mass
        for g in range(n_groups):
            n_g = counts[g * n_lanes + lane]
            for h in range(g + 1):
                n_h = counts[h * n_lanes + lane]
                product = dots[g, h, lane] + n_g * n_h * norm
                product -= n_g * toward[h] + n_h * toward[g]
                slopes[g, h] -= 2.0 / mass * product
    for g in range(n_groups):
        for h in range(g + 1):
            slopes[g, h] /= group_sizes[g] * group_sizes[h]
            slopes[h, g] = slopes[g, h]


@njit
def solve(matrix, right):
    """Solve by Gaussian elimination; return False if singular.  OUT: matrix, right."""
    n = len(right)
    for i in range(n):
        pivot = i + np.argmax(np.abs(matrix[i:, i]))
        if not abs(matrix[pivot, i]) > 1e-300:
            return False
        for j in range(n):
            matrix[i, j], matrix[pivot, j] = matrix[pivot, j], matrix[i, j]
        right[i], right[pivot] = right[pivot], right[i]
        for row in range(i + 1, n):
            factor = matrix[row, i] / matrix[i, i]
            for j in range(i, n):
                matrix[row, j] -= factor * matrix[i, j]
            right[row] -= factor * right[i]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            right[i] -= matrix[i, j] * right[j]
        right[i] /= matrix[i, i]
    return True


@njit
def balance_weights(
    slot, n_slots, group_sizes, squares, counts, dots, group_weights, costs
):
    """Make one Newton step towards equal costs of the groups with weight.

    The step is halved until it brings their costs nearer to the largest, or not made.
    IN and OUT: group_weights, costs.
    """
    n_groups = len(costs)
    support, n = np.empty(n_groups, np.int64), 0
    for g in range(n_groups):
        if group_weights[g] > 2.0 * LEAST_WEIGHT:
            support[n] = g
            n += 1
    slopes = np.empty((n_groups, n_groups))
    cost_slopes(group_weights, slot, n_slots, group_sizes, counts, dots, slopes)
    matrix, step = np.zeros((n + 1, n + 1)), np.zeros(n + 1)
    for a in range(n):
        for b in range(n):
            matrix[a, b] = slopes[support[a], support[b]]
        matrix[a, n], matrix[n, a] = -1.0, 1.0
        step[a] = -costs[support[a]]
    before, weights = spread_of_costs(group_weights, costs), group_weights.copy()
    share = 1.0 if solve(matrix, step) else 0.0
    for a in range(n):
        if step[a] < 0.0:  # no further than to LEAST_WEIGHT
            share = min(share, (weights[support[a]] - LEAST_WEIGHT) / -step[a])
    while share > 1e-6:
        for a in range(n):
            group_weights[support[a]] = weights[support[a]] + share * step[a]
        group_costs(
            group_weights, slot, n_slots, group_sizes, squares, counts, dots, costs
        )
        if spread_of_costs(group_weights, costs) < before:
            return
        share *= 0.5
    for g in range(n_groups):
        group_weights[g] = weights[g]
    group_costs(group_weights, slot, n_slots, group_sizes, squares, counts, dots, costs)


@njit
def fair_weights(
    slot, n_slots, group_sizes, squares, counts, dots, tolerance, group_weights, costs
):
    """Find the group weights whose centers minimise the largest mean cost.

    Newton steps equalise the costs of the groups with weight. Where they do not help,
    and with two groups, weight moves from the group with the lowest cost to the one
    with the highest. This ends when the largest cost is within a relative tolerance of
    sum_g lambda_g cost_g, its lower bound. Groups with only LEAST_WEIGHT are left out
    of that sum.
    IN and OUT: group_weights.  OUT: costs.
    """
    n_groups = group_sizes.shape[0]
    group_costs(group_weights, slot, n_slots, group_sizes, squares, counts, dots, costs)
    for n_rounds in range(200):
        taker, giver = np.argmax(costs), np.int64(-1)
        for g in range(n_groups):
            can_give = group_weights[g] > 2.0 * LEAST_WEIGHT and g != taker
            if can_give and (giver < 0 or costs[g] < costs[giver]):
                giver = g
        spread = spread_of_costs(group_weights, costs)
        if giver < 0 or spread <= tolerance * costs[taker]:
            break
        enough = tolerance
        if n_groups > 2:
            if group_weights[taker] > 2.0 * LEAST_WEIGHT:
                balance_weights(
                    slot, n_slots, group_sizes, squares, counts, dots, group_weights,
                    costs,
                )  # fmt: skip
                if spread_of_costs(group_weights, costs) < 0.5 * spread:
                    continue
                taker = np.argmax(costs)
                for g in range(n_groups):
                    can_give = group_weights[g] > 2.0 * LEAST_WEIGHT and g != taker
                    if can_give and (giver == taker or costs[g] < costs[giver]):
                        giver = g
            if n_rounds < ROUGH_ROUNDS:
                difference = costs[taker] - costs[giver]
                enough = max(tolerance, ROUGHLY * difference / costs[taker])
        shift_weight(
            giver, taker, slot, n_slots, group_sizes, squares, counts, dots, enough,
            group_weights, costs,
        )  # fmt: skip


@njit
def take_slot(slot, n_slots, counts, dots, own_counts, own_dots):
    """Copy the counts and dots of one slot: nearby numbers are read faster.

    OUT: own_counts, own_dots.
    """
    n_groups, _, n_lanes = dots.shape
    n_clusters = n_lanes // n_slots
    for g in range(n_groups):
        for c in range(n_clusters):
            lane = c * n_slots + slot
            own_counts[g * n_clusters + c] = counts[g * n_lanes + lane]
            for h in range(g + 1):
                own_dots[g, h, c] = dots[g, h, lane]


@njit
def weigh_groups(
    own, everyone, group_sizes, squares, counts, dots, tolerances, group_weights,
    costs, pull,
):  # fmt: skip
    """Find the group weights of each slot, and how much a row of each group counts.

    IN and OUT: group_weights.  OUT: costs, pull.
    """
    n_slots = len(tolerances)
    pooled_counts, pooled_dots = counts, dots
    if everyone > 0.0:
        pooled_counts, pooled_dots = np.empty_like(counts), np.empty_like(dots)
        pool_groups(own, everyone, counts, dots, pooled_counts, pooled_dots)
    n_groups, _, n_lanes = dots.shape
    of_slot = (
        np.empty(len(counts) // n_slots),
        np.empty((n_groups, n_groups, n_lanes // n_slots)),
    )
    for slot in range(n_slots):
        take_slot(slot, n_slots, pooled_counts, pooled_dots, *of_slot)
        fair_weights(
            0, 1, group_sizes, squares, *of_slot, tolerances[slot],
            group_weights[slot], costs[slot],
        )  # fmt: skip
        set_pull(own, everyone, group_weights[slot], group_sizes, slot, n_slots, pull)


@njit
def place_fair_centers(pull, counts, sums, half_norms, centers):
    """Move the centers to means in which group g counts pull[g]; NaN if empty.

    OUT: half_norms, centers.
    """
    n_features, n_lanes = centers.shape
    n_groups = pull.shape[0] // n_lanes
    mass = np.zeros(n_lanes)
    for lane in range(n_groups * n_lanes):
        mass[lane % n_lanes] += pull[lane] * counts[lane]
    half_norms[:] = 0.0
    for j in range(n_features):
        for lane in range(n_lanes):
            centers[j, lane] = 0.0
        for g in range(n_groups):
            first = g * n_lanes
            for lane in range(n_lanes):
                centers[j, lane] += pull[first + lane] * sums[j, first + lane]
        for lane in range(n_lanes):
            mean = centers[j, lane] / mass[lane]
            centers[j, lane] = mean
            half_norms[lane] += 0.5 * mean * mean


@njit
def refill(
    ends, columns, values, weights, groups, pull, labels, slot, centers, half_norms,
    means,
):  # fmt: skip
    """Put centers that are NaN on the rows that cost most.

    Returns True if one of these rows has a cost above 0. IN: centers that the labels
    come from.  OUT: half_norms, means, of this slot.
    """
    n_features, n_lanes = centers.shape
    n_slots = labels.shape[1]
    distances = squared_distances(ends, columns, values, labels, slot, centers)
    is_useful = False
    for i in range(labels.shape[0]):
        distances[i] *= weights[i] * pull[groups[i] * n_lanes + slot]
    for lane in range(slot, n_lanes, n_slots):
        if np.isfinite(half_norms[lane]):
            continue
        far = np.argmax(distances)
        is_useful = is_useful or distances[far] > 0.0
        distances[far] = -1.0
        half_norms[lane] = 0.0
        for j in range(n_features):
            means[j, lane] = 0.0
        for entry in range(ends[far], ends[far + 1]):
            means[columns[entry], lane] += values[entry]
        for j in range(n_features):
            half_norms[lane] += 0.5 * means[j, lane] ** 2
    return is_useful


@njit
def fair_runs(
    shared, ends, columns, values, weights, groups, group_sizes, own, everyone,
    squares, given, n_slots, max_iter, patience, ceiling, least_gain, costs,
    group_weights, found, n_iter,
):  # fmt: skip
    """Run Fair-Lloyd from given[run], of shape (n_runs, n_clusters, n_features).

    Nearest centers and fair centers alternate until no row changes its cluster. A run
    ends early if its largest mean cost after ``patience`` iterations is above
    ``ceiling``, or if it falls by less than a relative ``least_gain``. A row counts
    ``own`` in its group and ``everyone`` in every group; group_sizes, squares, costs
    and group_weights are those of the pooled groups.
    OUT: per run, costs (mean costs of the groups), group_weights, found (centers) and
    n_iter.
    """
    n_runs, n_clusters, n_features = given.shape
    n_samples, n_groups, n_lanes = len(weights), len(group_sizes), n_clusters * n_slots
    entries = (ends, columns, values)
    labels, n_changed = np.empty((n_samples, n_slots), np.int32), np.empty(n_slots)
    counts, sums = (
        np.empty(n_groups * n_lanes),
        np.empty((n_features, n_groups * n_lanes)),
    )
    members = np.empty(n_groups * n_lanes, np.int64)
    half_norms, means = np.empty(n_lanes), np.empty((n_features, n_lanes))
    centers, pull = np.empty_like(means), np.ones(n_groups * n_lanes)
    dots = np.empty((n_groups, n_groups, n_lanes))
    pooled = (np.empty_like(counts), np.empty_like(dots))
    if everyone == 0.0:
        pooled = (counts, dots)
    of_slot = (
        np.empty(n_groups * n_clusters),
        np.empty((n_groups, n_groups, n_clusters)),
    )
    balance = np.full((n_slots, n_groups), 1.0 / n_groups)
    running, age = np.arange(n_slots), np.zeros(n_slots, np.int64)
    before = np.full(n_slots, np.inf)
    no_starts = np.empty((n_runs, n_clusters), np.int64)
    for slot in range(n_slots):
        start_run(
            *entries, no_starts, given, slot, slot,
            labels, members, counts, sums, half_norms, centers,
        )  # fmt: skip
    n_started, n_ended = n_slots, 0
    while n_ended < n_runs:
        assign_rows(
            shared, *entries, weights, groups, half_norms, centers,
            labels, members, counts, sums, n_changed,
        )  # fmt: skip
        multiply_sums(sums, dots)
        if everyone > 0.0:
            pool_groups(own, everyone, counts, dots, *pooled)
        for slot in range(n_slots):
            if running[slot] >= 0:
                share = n_changed[slot] / n_samples
                if age[slot] + 1 == max_iter:
                    share = 0.0
                take_slot(slot, n_slots, *pooled, *of_slot)
                fair_weights(
                    0, 1, group_sizes, squares, *of_slot,
                    max(FAIR_TOLERANCE, ROUGH_TOLERANCE * share), balance[slot],
                    costs[running[slot]],
                )  # fmt: skip
                set_pull(own, everyone, balance[slot], group_sizes, slot, n_slots, pull)
        place_fair_centers(pull, counts, sums, half_norms, means)
        for slot in range(n_slots):
            run = running[slot]
            age[slot] += 1
            if run < 0:
                continue
            is_refilled = False
            for lane in range(slot, n_lanes, n_slots):
                if not np.isfinite(half_norms[lane]):
                    is_refilled = refill(
                        *entries, weights, groups, pull, labels, slot, centers,
                        half_norms, means,
                    )  # fmt: skip
            is_hopeless = age[slot] == patience and costs[run].max() > ceiling
            is_moving = n_changed[slot] > 0 or is_refilled
            largest = costs[run].max()
            if least_gain > 0.0 and before[slot] - largest < least_gain * largest:
                is_moving = False
            before[slot] = largest
            if is_moving and age[slot] < max_iter and not is_hopeless:
                continue
            n_ended += 1
            n_iter[run] = age[slot]
            for g in range(n_groups):
                group_weights[run, g] = balance[slot, g]
            for c in range(n_clusters):
                for j in range(n_features):
                    found[run, c, j] = means[j, c * n_slots + slot]
            running[slot], age[slot] = -1, 0
            if n_started < n_runs:
                balance[slot], before[slot] = 1.0 / n_groups, np.inf
                start_run(
                    *entries, no_starts, given, n_started, slot,
                    labels, members, counts, sums, half_norms, means,
                )  # fmt: skip
                running[slot] = n_started
                n_started += 1
        centers, means = means, centers
