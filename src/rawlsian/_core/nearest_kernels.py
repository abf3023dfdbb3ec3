"""Means and cells, the rows that are nearest to each mean; compiled.

Labels give the means. Rows whose nearest mean is c form the cell of c. Two partitions,
so two kinds of sums: of labels, from which the means follow, and of cells, from which
the costs follow.

The letters t, u and D are those of ``nearest_moves``, all others and the rules those of
``move_kernels``. Numba's cache checks only the file of a function, so no compiled
function calls one of another file.
"""

import numpy as np

from rawlsian._support.compile import njit

# Rows that are measured at a time: what they read stays in the cache.
ROWS_A_TILE = 1024


# --- Means, distances and cells ---


@njit
def summarise_means(counts, sums, is_moved, mass, mean_norms):
    """Compute the mass and m.m of the means that moved.  OUT: mass, mean_norms."""
    for c in range(mass.shape[0]):
        if is_moved[c]:
            mass[c], norm = counts[c, 0], 0.0
            for j in range(sums.shape[2]):
                value = sums[c, 0, j] / mass[c]
                norm += value * value
            mean_norms[c] = norm


@njit
def fill_factors(
    c, weights, labels, n_members, mass, mean_norm, product, squared, t, u, lengths,
    largest,
):  # fmt: skip
    """Fill t and u of rows that leave or enter cluster c.

    They are 0 where a row would leave its cluster empty.
    OUT: t, u, lengths; largest[A], raised to |D|^2 of the rows that are labeled A.
    """
    n_rows, scale = t.shape[0], 1 / mass
    for i in range(n_rows):
        w = -weights[i] if labels[i] == c else weights[i]
        t[i] = w / (mass + w)
    if n_members == 1:
        for i in range(n_rows):
            t[i] = 0.0 if labels[i] == c else t[i]
    for i in range(n_rows):
        u[i] = t[i] * (t[i] * squared[i] + 2 * (scale * product[i] - mean_norm))
    for i in range(n_rows):
        lengths[i] = t[i] * t[i] * squared[i]
    for i in range(n_rows):
        if lengths[i] > largest[labels[i]]:
            largest[labels[i]] = lengths[i]


@njit
def fill_gaps(squared, cells, own, gaps, start, stop):
    """Fill how much further the next mean is than that of the cell, in squares.

    Returns the number of rows for which it is negative.  OUT: own, gaps[start:stop].
    """
    n_rows, n_negative = stop - start, 0
    cells, gaps = cells[start:stop], gaps[start:stop]
    gaps[:] = np.inf
    for c in range(squared.shape[0]):
        distance = squared[c, start:stop]
        for i in range(n_rows):
            is_own, value = cells[i] == c, distance[i]
            own[i] = value if is_own else own[i]
            gaps[i] = value if (not is_own) & (value < gaps[i]) else gaps[i]
    for i in range(n_rows):
        gaps[i] -= own[i]
        n_negative += gaps[i] < 0.0
    return n_negative


@njit
def nearest_mean(squared, i):
    """Return the mean that is nearest to row i, and how much further the next is."""
    nearest, first, second = 0, squared[0, i], np.inf
    for c in range(1, squared.shape[0]):
        value = squared[c, i]
        second = min(second, max(first, value))
        if value < first:
            nearest, first = c, value
    return nearest, second - first


@njit
def keep_largest(examples, labels, is_moved, squared, factors, largest):
    """Return a copy of ``largest`` for the means that did not move, else 0.

    It is raised for ``examples``, which are now among the rows of another label.
    """
    largest = largest.copy()
    for c in range(is_moved.shape[0]):
        if is_moved[c]:
            largest[c] = 0.0
            continue
        for x in examples:
            length = factors[c, x] * factors[c, x] * squared[c, x]
            largest[c, labels[x]] = max(largest[c, labels[x]], length)
    return largest


@njit
def measure(
    norms, weights, labels, members, label_products, mass, mean_norms, examples,
    is_moved, cells, squared, gaps, factors, norm_changes, largest, start, stop,
):  # fmt: skip
    """Compute the squared distances of rows to the means that moved.

    And t and u of their moves, if ``factors`` has room for them. The means moved as
    ``examples`` got other labels.
    Returns the rows that are nearer to another mean than to that of their cell, that
    mean, and ``largest`` as it is now: largest[c, A] is at least |D|^2 of mean c if a
    row that is labeled A leaves or enters it.
    OUT: squared, gaps, factors, norm_changes, each [..., start:stop].
    """
    n_clusters, has_factors = mass.shape[0], factors.shape[0] > 0
    found, nearest, n_found = np.empty(8, np.int64), np.empty(8, np.int64), 0
    if has_factors:
        largest = keep_largest(examples, labels, is_moved, squared, factors, largest)
    own = np.empty(min(ROWS_A_TILE, stop - start))
    for first in range(start, stop, ROWS_A_TILE):
        last = min(first + ROWS_A_TILE, stop)
        for c in range(n_clusters):
            if not is_moved[c]:
                continue
            product, scale = label_products[c, 0, first:last], 1 / mass[c]
            out, norm, here = squared[c, first:last], mean_norms[c], norms[first:last]
            for i in range(last - first):
                square = here[i] - 2 * (scale * product[i]) + norm
                out[i] = square if square > 0.0 else 0.0
            if has_factors:
                fill_factors(
                    c, weights[first:last], labels[first:last], members[c], mass[c],
                    norm, product, out, factors[c, first:last],
                    norm_changes[c, first:last], own, largest[c],
                )  # fmt: skip
        n_changed = fill_gaps(squared, cells, own, gaps, first, last)
        while n_found + n_changed > found.shape[0]:
            found = np.concatenate((found, np.empty_like(found)))
            nearest = np.concatenate((nearest, np.empty_like(nearest)))
        for i in range(first, last if n_changed > 0 else first):
            if gaps[i] < 0.0:
                found[n_found] = i
                nearest[n_found], gaps[i] = nearest_mean(squared, i)
                n_found += 1
    return found[:n_found], nearest[:n_found], largest


@njit
def summarise_cells(
    label_sums, mass, mean_norms, counts, sums, squares, group_sizes, max_distance,
    is_changed, mean_dots, costs, utilities,
):  # fmt: skip
    """Compute the costs of the changed cells, and the group utilities.

    mean_dots[g] = m.S[g], with m the mean of the labels and S the sum of the cell.
    OUT: mean_dots, costs of the changed cells; utilities.
    """
    n_clusters, n_groups, n_features = sums.shape
    for c in range(n_clusters):
        if not is_changed[c]:
            continue
        for g in range(n_groups):
            product = 0.0
            for j in range(n_features):
                product += label_sums[c, 0, j] * sums[c, g, j]
            mean_dots[c, g] = product / mass[c]
            cost = squares[c, g] - 2 * mean_dots[c, g] + counts[c, g] * mean_norms[c]
            costs[c, g] = max(cost, 0.0)  # rounding can leave -1e-17
    for g in range(n_groups):
        total = 0.0
        for c in range(n_clusters):
            total += costs[c, g]
        utilities[g] = max_distance - total / group_sizes[g]


@njit
def nearest_utilities(
    X, shift, norms, weights, groups, label_sums, mass, mean_norms, is_changed, squared,
    group_sizes, max_distance, utilities,
):  # fmt: skip
    """Compute the group utilities with these means, row by row.

    ``squared`` holds the distances to the means that did not change.  OUT: utilities.
    """
    changed, others = np.flatnonzero(is_changed), np.flatnonzero(~is_changed)
    # One row per feature: the innermost loop runs over contiguous memory.
    columns_of_sums = np.empty((X.shape[1], len(changed)))
    for place in range(len(changed)):
        for j in range(X.shape[1]):
            columns_of_sums[j, place] = label_sums[changed[place], 0, j]
    products = np.empty(len(changed))
    utilities[:] = 0.0
    for i in range(X.shape[0]):
        best = np.inf
        for c in others:
            best = min(best, squared[c, i])
        products[:] = 0.0
        for j in range(X.shape[1]):
            value = X[i, j] - shift[j]
            if value != 0.0:
                for place in range(len(changed)):
                    products[place] += value * columns_of_sums[j, place]
        for place in range(len(changed)):
            c = changed[place]
            distance = norms[i] - 2 * products[place] / mass[c] + mean_norms[c]
            best = min(best, max(distance, 0.0))
        utilities[groups[i]] += weights[i] * best
    for g in range(utilities.shape[0]):
        utilities[g] = max_distance - utilities[g] / group_sizes[g]


# --- Rows near a boundary of cells ---


@njit
def hold(rows, slots, held, hand):
    """Give each row a place in the table of products, as long as there are places.

    Places of other rows are taken in turn. Returns the places that are to be filled.
    OUT: slots[i], the place of row i or -1; held, the row in each place; hand.
    """
    n_places = held.shape[0]
    filled, n_filled = np.empty(min(rows.shape[0], n_places), np.int64), 0
    is_needed = np.zeros(n_places, np.bool_)
    for i in rows:
        if slots[i] >= 0:
            is_needed[slots[i]] = True
    n_tried = 0
    for i in rows:
        if slots[i] >= 0:
            continue
        while n_tried < n_places and is_needed[hand[0]]:
            hand[0] = (hand[0] + 1) % n_places
            n_tried += 1
        if n_tried == n_places:
            break
        place = hand[0]
        if held[place] >= 0:
            slots[held[place]] = -1
        held[place], slots[i], filled[n_filled] = i, place, place
        is_needed[place] = True
        n_filled += 1
    return filled[:n_filled]


@njit
def reach_of_moves(largest):
    """Return how much a move can change the difference of distances to two means.

    It shifts one of the means, or both if its row leaves one and enters the other.
    """
    n_clusters, shifts = largest.shape[0], np.sqrt(largest)
    reach = np.zeros((n_clusters, n_clusters))
    for a in range(n_clusters):
        for b in range(a):
            most = max(shifts[a, a] + shifts[b, a], shifts[a, b] + shifts[b, b])
            for A in range(n_clusters):
                most = max(most, shifts[a, A], shifts[b, A])
            reach[a, b] = reach[b, a] = most
    return reach


@njit
def near_rows(gaps, squared, cells, reach, slack, furthest, slots, held, hand):
    """List the rows that moves can bring into another cell.

    Their distances to two means differ by no more than the ``reach`` of moves.
    No row is further than ``furthest`` from the nearest mean.
    Returns the rows; is_near[r, c], True if mean c can win or lose rows[r]; and the
    places of their products that are to be filled.
    OUT: slots, held, hand, as in ``hold``.
    """
    n_clusters, n_samples = squared.shape
    widest = reach.max() + slack
    most = widest * (2 * furthest + widest)
    rows, n_found = np.empty(64, np.int64), 0
    is_near = np.empty((64, n_clusters), np.bool_)
    for i in range(n_samples):
        if gaps[i] > most:
            continue
        own, n_near = cells[i], 0
        distance = np.sqrt(squared[own, i])
        if gaps[i] > widest * (2 * distance + widest):
            continue
        for c in range(n_clusters):
            away = np.sqrt(squared[c, i]) - distance
            is_near[n_found, c] = away <= reach[own, c] + slack
            n_near += is_near[n_found, c]
        if n_near > 1:  # its own is one
            rows[n_found] = i
            n_found += 1
            if n_found == rows.shape[0]:
                rows = np.concatenate((rows, np.empty_like(rows)))
                is_near = np.concatenate((is_near, np.empty_like(is_near)))
    rows = rows[:n_found]
    return rows, is_near[:n_found], hold(rows, slots, held, hand)


@njit
def near_moves(
    gaps, squared, cells, largest, times, slack, furthest, slots, held, hand
):
    """List the rows that moves of ``times`` the reach of single moves can bring."""
    reach = times * reach_of_moves(largest)
    return near_rows(gaps, squared, cells, reach, slack, furthest, slots, held, hand)
