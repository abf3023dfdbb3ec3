"""Hartigan's method for fair partitions, compiled: move one row at a time.

Centers are the means of the clusters. Each row in turn goes to the cluster where the
soft maximum of the mean group costs, t log sum_g exp(cost_g / t), is lowest. While the
temperature t is high, one group may gain at the expense of another; as it falls, only
the largest cost counts. At 0 a move must be better in the leximin order: the largest
cost is lower or, if equal, the second largest, and so on.

Rows are read as their non-zero entries, listed by ``sparse_rows``. Numba's cache checks
only the file of a function, so no compiled function calls one of another file.
"""

import math

import numpy as np

from rawlsian._support.compile import njit

# A temperature ends when a sweep moves no more than this fraction of the rows.
SETTLED = 1e-3


@njit
def soft_maximum(costs, temperature):
    """Return t log sum_g exp(cost_g / t), a little above the largest cost."""
    largest, total = costs.max(), 0.0
    for cost in costs:
        total += math.exp((cost - largest) / temperature)
    return largest + temperature * math.log(total)


@njit
def copy_costs(source, target):
    """target[g] = source[g], cheaper to compile than a slice.  OUT: target."""
    for g in range(len(source)):
        target[g] = source[g]


@njit
def sorted_costs(costs):
    """Return a sorted copy, by insertion: groups are few."""
    ranked = np.empty(len(costs))
    for g in range(len(costs)):
        place = g
        while place > 0 and ranked[place - 1] > costs[g]:
            ranked[place] = ranked[place - 1]
            place -= 1
        ranked[place] = costs[g]
    return ranked


@njit
def is_leximin_better(costs, others, tolerance):
    """Return True if the largest cost is lower or, if equal, the next, and so on."""
    difference = costs.max() - others.max()
    if abs(difference) > tolerance:  # mostly true, and then no sorting is needed
        return difference < 0.0
    ours, theirs = sorted_costs(costs), sorted_costs(others)
    for rank in range(len(ours) - 1, -1, -1):
        if abs(ours[rank] - theirs[rank]) > tolerance:
            return ours[rank] < theirs[rank]
    return False


@njit
def describe_cluster(c, counts, sums, mass, mean_norms, mean_dots, parts):
    """Compute N, m.m, m.S[g] and parts[g] = -2 m.S[g] + n[g] m.m of cluster c.

    The cost of group g in c is Q[g] + parts[g].
    OUT: mass, mean_norms, mean_dots, parts, at c.
    """
    n_features, _, n_groups = sums.shape
    mass[c] = mean_norms[c] = 0.0
    for g in range(n_groups):
        mass[c] += counts[c, g]
        mean_dots[c, g] = 0.0
    for j in range(n_features):
        mean = 0.0
        for g in range(n_groups):
            mean += sums[j, c, g]
        mean /= mass[c]
        mean_norms[c] += mean * mean
        for g in range(n_groups):
            mean_dots[c, g] += mean * sums[j, c, g]
    for g in range(n_groups):
        parts[c, g] = -2.0 * mean_dots[c, g] + counts[c, g] * mean_norms[c]


@njit
def add_change(
    c, weight, norm, group, products, counts, mass, mean_norms, mean_dots, parts,
    group_sizes, own, everyone, costs,
):  # fmt: skip
    """Add to costs the change when a row enters c, or leaves it with negative weight.

    A row counts ``own`` in its group and ``everyone`` in every group.
    IN: products[c, g] = x.S[c, g] of the row.  OUT: costs, mean costs of the groups.
    """
    n_groups = len(group_sizes)
    product = total = 0.0
    for g in range(n_groups):
        product += products[c, g]
    left = mass[c] + weight
    whole = mean_norms[c] * mass[c] ** 2 + 2.0 * weight * product + weight**2 * norm
    mean_norm = whole / left**2
    for g in range(n_groups):
        dot, count = mean_dots[c, g] * mass[c] + weight * products[c, g], counts[c, g]
        if g == group:
            dot += weight * (product + weight * norm)
            count += weight
        part = -2.0 * dot / left + count * mean_norm
        change = part - parts[c, g]
        costs[g] += own * change / group_sizes[g]
        total += change
    if everyone > 0.0:
        for g in range(n_groups):
            costs[g] += everyone * total / group_sizes[g]


@njit
def shift_row(ends, columns, values, i, c, group, weight, counts, sums):
    """Add row i to cluster c, or remove it with negative weight.

    OUT: counts, sums.
    """
    counts[c, group] += weight
    for entry in range(ends[i], ends[i + 1]):
        sums[columns[entry], c, group] += weight * values[entry]


@njit
def sweep(
    ends, columns, values, norms, weights, groups, group_sizes, own, everyone,
    temperature, tolerance, labels, members, counts, sums, mass, mean_norms, mean_dots,
    parts, costs,
):  # fmt: skip
    """Move every row once to its best cluster; return the number of rows moved.

    OUT: labels, members, counts, sums, mass, mean_norms, mean_dots, parts; costs, the
    mean costs of the groups.
    """
    _, n_clusters, n_groups = sums.shape
    products = np.empty((n_clusters, n_groups))
    left, after, best = np.empty(n_groups), np.empty(n_groups), np.empty(n_groups)
    n_moved = 0
    for i in range(len(weights)):
        source, group, weight = np.int64(labels[i]), groups[i], weights[i]
        if weight == 0.0 or members[source] == 1:
            continue
        products[:] = 0.0
        for entry in range(ends[i], ends[i + 1]):
            j, value = columns[entry], values[entry]
            for c in range(n_clusters):
                for g in range(n_groups):
                    products[c, g] += value * sums[j, c, g]
        statistics = (
            products, counts, mass, mean_norms, mean_dots, parts, group_sizes, own,
            everyone,
        )  # fmt: skip
        copy_costs(costs, left)
        add_change(source, -weight, norms[i], group, *statistics, left)
        target, lowest = source, np.inf
        copy_costs(costs, best)
        if temperature > 0.0:
            lowest = soft_maximum(costs, temperature)
        for c in range(n_clusters):
            if c == source:
                continue
            copy_costs(left, after)
            add_change(c, weight, norms[i], group, *statistics, after)
            if temperature > 0.0:
                value = soft_maximum(after, temperature)
                is_better = value < lowest - tolerance
                lowest = value if is_better else lowest
            else:
                is_better = is_leximin_better(after, best, tolerance)
            if is_better:
                target = c
                copy_costs(after, best)
        if target == source:
            continue
        shift_row(ends, columns, values, i, source, group, -weight, counts, sums)
        shift_row(ends, columns, values, i, target, group, weight, counts, sums)
        describe_cluster(source, counts, sums, mass, mean_norms, mean_dots, parts)
        describe_cluster(target, counts, sums, mass, mean_norms, mean_dots, parts)
        labels[i] = target
        copy_costs(best, costs)
        members[source] -= 1
        members[target] += 1
        n_moved += 1
    return n_moved


@njit
def improve(
    ends, columns, values, weights, groups, group_sizes, own, everyone, n_clusters,
    n_features, temperatures, max_sweeps, least_gain, tolerance, labels,
):  # fmt: skip
    """Sweep over the rows, at each temperature until no move is better.

    A row counts ``own`` in its group and ``everyone`` in every group; group_sizes are
    those of the pooled groups.
    A temperature above 0 also ends when few rows move, or after max_sweeps; 0 also ends
    when a sweep lowers the largest cost by less than least_gain, if that is above 0.
    No cluster becomes empty; rows without weight stay.  IN and OUT: labels.
    """
    n_samples, n_groups = len(weights), len(group_sizes)
    norms, squares = np.zeros(n_samples), np.zeros(n_groups)
    members = np.zeros(n_clusters, np.int64)
    counts = np.zeros((n_clusters, n_groups))
    sums = np.zeros((n_features, n_clusters, n_groups))  # contiguous in loops
    mass, mean_norms = np.zeros(n_clusters), np.zeros(n_clusters)
    mean_dots, parts = np.zeros_like(counts), np.zeros_like(counts)
    costs = np.empty(n_groups)
    for i in range(n_samples):
        c = np.int64(labels[i])
        members[c] += weights[i] > 0.0
        shift_row(ends, columns, values, i, c, groups[i], weights[i], counts, sums)
        for entry in range(ends[i], ends[i + 1]):
            norms[i] += values[entry] ** 2
        squares[groups[i]] += weights[i] * norms[i]
    for c in range(n_clusters):
        describe_cluster(c, counts, sums, mass, mean_norms, mean_dots, parts)
    for temperature in temperatures:
        # At 0 sweeps end by themselves: every move is better in the leximin order.
        n_sweeps = max_sweeps if temperature > 0.0 else 1_000_000
        for _ in range(n_sweeps):
            total = 0.0
            for g in range(n_groups):
                part = 0.0
                for c in range(n_clusters):
                    part += parts[c, g]
                cost = squares[g] + part
                costs[g] = own * cost / group_sizes[g]
                total += cost
            if everyone > 0.0:
                for g in range(n_groups):
                    costs[g] += everyone * total / group_sizes[g]
            largest = costs.max()
            n_moved = sweep(
                ends, columns, values, norms, weights, groups, group_sizes, own,
                everyone, temperature, tolerance, labels, members, counts, sums, mass,
                mean_norms, mean_dots, parts, costs,
            )  # fmt: skip
            if n_moved <= (SETTLED * n_samples if temperature > 0.0 else 0):
                break
            gain = largest - costs.max()
            if temperature == 0.0 and least_gain > 0.0 and gain < least_gain:
                break
