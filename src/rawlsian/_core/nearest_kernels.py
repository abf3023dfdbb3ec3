"""Searches for moves if each row is served by its nearest mean; compiled.

Labels give the means. Rows whose nearest mean is c form the cell of c. Two partitions,
so two kinds of sums: of labels, from which the means follow, and of cells, from which
the costs follow.

A row x that leaves or enters a cluster of mass N shifts its mean m by D = t (x - m),
with t = w / (N + w) and w < 0 if it leaves. If no row changed its cell, the cost of
group g in the cell, with n rows and sum S, would change by
    -2 D.(S[g] - n[g] m) + n[g] |D|^2.
These are the *plain* costs of a move. Some rows do change their cells: only those whose
distances to two means differ by at most the shifts |D| of both. The kernels visit these
rows, in lists sorted by that difference (the *margin*), and correct the plain costs.
A correction is never positive, as a row changes to a nearer mean.

Letters and rules are those of ``move_kernels``. Numba's cache checks only the file of
a function, so no compiled function calls one of another file.
"""

import numpy as np

from rawlsian._support.compile import njit

# Rows whose moves are corrected at a time.
ROWS_A_TILE = 128


# --- Distances and cells ---


@njit
def measure(norms, products, mass, mean_norms, is_changed, squared, distances,
            start, stop):  # fmt: skip
    """Compute the distances of rows to the changed means.

    OUT: squared[:, start:stop], distances[:, start:stop].
    """
    for c in range(mass.shape[0]):
        if not is_changed[c]:
            continue
        product, norm, scale = products[c, 0], mean_norms[c], 2.0 / mass[c]
        for i in range(start, stop):
            value = norms[i] - scale * product[i] + norm
            value = value if value > 0.0 else 0.0
            squared[c, i] = value
            distances[c, i] = np.sqrt(value)


@njit
def changed_cells(squared, cells):
    """Return the rows whose nearest mean is not that of their cell, and the nearest."""
    n_clusters, n_samples = squared.shape
    best, nearest = np.empty(n_samples), np.empty(n_samples, np.int32)
    for i in range(n_samples):
        best[i], nearest[i] = squared[0, i], 0
    for c in range(1, n_clusters):
        distance = squared[c]
        for i in range(n_samples):
            is_nearer = distance[i] < best[i]
            best[i] = distance[i] if is_nearer else best[i]
            nearest[i] = c if is_nearer else nearest[i]
    n_found = 0
    for i in range(n_samples):
        # A row in the cell of an equally near mean stays there.
        n_found += (nearest[i] != cells[i]) and best[i] < squared[cells[i], i]
    rows, targets = np.empty(n_found, np.int64), np.empty(n_found, np.int64)
    n_found = 0
    for i in range(n_samples):
        if nearest[i] != cells[i] and best[i] < squared[cells[i], i]:
            rows[n_found], targets[n_found] = i, nearest[i]
            n_found += 1
    return rows, targets


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
    n_clusters, n_features = mass.shape[0], X.shape[1]
    utilities[:] = 0.0
    for i in range(X.shape[0]):
        best = np.inf
        for c in range(n_clusters):
            if not is_changed[c]:
                best = min(best, squared[c, i])
        for c in range(n_clusters):
            if is_changed[c]:
                product = 0.0
                for j in range(n_features):
                    product += (X[i, j] - shift[j]) * label_sums[c, 0, j]
                value = norms[i] - 2 * product / mass[c] + mean_norms[c]
                best = min(best, max(value, 0.0))
        utilities[groups[i]] += weights[i] * best
    for g in range(utilities.shape[0]):
        utilities[g] = max_distance - utilities[g] / group_sizes[g]


# --- Single moves ---


@njit
def fill_plain_costs(
    weights, labels, members, mass, mean_norms, mean_products, squared, distances,
    counts, mean_dots, cell_products, is_changed, plain, factors, shifts, start, stop,
):  # fmt: skip
    """Fill the plain costs of each row's leaving or entering the changed clusters.

    plain[c, g, i] is the change in group g's cost, in the last row that of all groups;
    factors[c, i] = t and shifts[c, i] = |D|. All are 0 where a row would leave its
    cluster empty.
    OUT: plain[:, :, start:stop], factors[:, start:stop], shifts[:, start:stop].
    """
    n_clusters, n_groups, _ = cell_products.shape
    n_rows = stop - start
    weights, labels = weights[start:stop], labels[start:stop]
    u = np.empty(n_rows)
    for c in range(n_clusters):
        if not is_changed[c]:
            continue
        t, product, r = (
            factors[c, start:stop],
            mean_products[c, 0, start:stop],
            squared[c, start:stop],
        )
        for i in range(n_rows):
            w = -weights[i] if labels[i] == c else weights[i]
            t[i] = w / (mass[c] + w)
        if members[c] == 1:
            for i in range(n_rows):
                t[i] = 0.0 if labels[i] == c else t[i]
        for i in range(n_rows):
            p = product[i] / mass[c] - mean_norms[c]
            u[i] = t[i] * (t[i] * r[i] + 2 * p)
            shifts[c, start + i] = abs(t[i]) * distances[c, start + i]
        total = plain[c, n_groups, start:stop]
        total[:] = 0.0
        for g in range(n_groups):
            out, cell = plain[c, g, start:stop], cell_products[c, g, start:stop]
            n, dots = counts[c, g], mean_dots[c, g]
            for i in range(n_rows):
                value = n * u[i] - 2 * t[i] * (cell[i] - dots)
                out[i] = value
                total[i] += value


@njit
def boundary(distances, cells, shifts, slack, factor):
    """List for each cluster the rows that moves can bring into or out of its cell.

    The margin of row y for cluster c is how much further c is than the nearest mean or,
    if c is the nearest, how much nearer it is than the second. Listed are margins up to
    ``factor`` times what the largest shifts of two clusters can bridge, sorted.
    Returns starts (of each cluster's list), rows and margins.
    """
    n_clusters, n_samples = distances.shape
    largest = np.zeros(n_clusters)
    for c in range(n_clusters):
        largest[c] = shifts[c].max()
    order = np.argsort(largest)
    firsts, seconds = np.full(n_samples, np.inf), np.full(n_samples, np.inf)
    for c in range(n_clusters):
        distance = distances[c]
        for i in range(n_samples):
            seconds[i] = min(seconds[i], max(firsts[i], distance[i]))
            firsts[i] = min(firsts[i], distance[i])
    starts = np.zeros(n_clusters + 1, np.int64)
    rows, margins, n_found = np.empty(256, np.int64), np.empty(256), 0
    for c in range(n_clusters):
        other = 0.0
        if n_clusters > 1:
            other = largest[order[-2]] if order[-1] == c else largest[order[-1]]
        limit = factor * (largest[c] + other) + slack
        distance = distances[c]
        for i in range(n_samples):
            if distance[i] - firsts[i] > limit:
                continue
            margin = (seconds[i] if cells[i] == c else distance[i]) - firsts[i]
            if margin > limit:
                continue
            if n_found == rows.shape[0]:
                rows = np.concatenate((rows, np.empty_like(rows)))
                margins = np.concatenate((margins, np.empty_like(margins)))
            rows[n_found], margins[n_found] = i, margin
            n_found += 1
        starts[c + 1], begin = n_found, starts[c]
        by_margin = np.argsort(margins[begin:n_found])
        rows[begin:n_found] = rows[begin:n_found][by_margin]
        margins[begin:n_found] = margins[begin:n_found][by_margin]
    return starts, rows[:n_found], margins[:n_found]


@njit
def listed_once(rows, margins, n_samples, most):
    """Return the listed rows by their smallest margin, these margins, and slots.

    slots[i] is the place of row i among the first rows, at most ``most``, or -1.
    """
    slots, is_listed = np.full(n_samples, -1), np.zeros(n_samples, np.bool_)
    once, least, n_once = np.empty_like(rows), np.empty_like(margins), 0
    for place in np.argsort(margins):
        i = rows[place]
        if not is_listed[i]:
            is_listed[i] = True
            once[n_once], least[n_once] = i, margins[place]
            if n_once < most:
                slots[i] = n_once
            n_once += 1
    return once[:n_once], least[:n_once], slots


@njit
def product_of_rows(X, shift, i, y):
    """Return (X[i] - shift) . (X[y] - shift)."""
    total = 0.0
    for j in range(X.shape[1]):
        total += (X[i, j] - shift[j]) * (X[y, j] - shift[j])
    return total


@njit
def changes_of_distances(
    y, X, shift, mass, mean_norms, mean_products, squared, factors, slots, products,
    changes, start, stop,
):  # fmt: skip
    """Fill changes[c, i - start]: how moving row i changes y's distance to mean c.

    The mean moves by D = t (x - m), so |y - m|^2 changes by |D|^2 - 2 D.(y - m).
    OUT: changes[:, : stop - start].
    """
    n_rows, dots = stop - start, np.empty(stop - start)
    if slots[y] >= 0:
        dots[:] = products[slots[y], start:stop]
    else:
        for i in range(n_rows):
            dots[i] = product_of_rows(X, shift, start + i, y)
    for c in range(mass.shape[0]):
        t, r = factors[c, start:stop], squared[c, start:stop]
        product, out, scale = mean_products[c, 0, start:stop], changes[c], 1 / mass[c]
        rest = mean_norms[c] - mean_products[c, 0, y] / mass[c]
        for i in range(n_rows):
            dot = dots[i] - scale * product[i] + rest
            out[i] = t[i] * (t[i] * r[i] - 2 * dot)


@njit
def correct(
    y, weights, groups, labels, squared, cells, share, changes, move_costs, start, stop
):
    """Subtract what row y saves in each move of rows start to stop - 1.

    Let a and b be the changes of y's squared distances to the cluster that is left and
    the one that is entered. The row saves the largest of 0 and of what its own mean
    moves away by, less what another mean moves away by, less the margin between them:
    the difference of squared distances, of which ``share`` counts.
    OUT: move_costs[:, :, start:stop].
    """
    n_clusters, n_columns, _ = move_costs.shape
    n_rows, cell, labels = stop - start, cells[y], labels[start:stop]
    margins = share * (squared[:, y] - squared[cell, y])
    margins[cell] = np.inf
    nearest = np.argmin(margins)
    first = margins[nearest]
    margins[nearest] = np.inf
    second = margins.min()  # infinite if there are only two clusters
    margins[nearest] = first
    away, left = np.empty(n_rows), np.empty(n_rows)
    to_first, to_second = np.empty(n_rows), np.empty(n_rows)
    others = np.empty(n_rows)
    for i in range(n_rows):
        A = labels[i]
        a, is_own = changes[A, i], cell == A
        left[i] = a
        away[i] = a if is_own else 0.0
        to_first[i] = a - first if is_own else -a - margins[A]
        to_second[i] = a - second if is_own else -a - margins[A]
        others[i] = second if nearest == A else first
    saved = np.empty(n_rows)
    for B in range(n_clusters):
        b, most = changes[B], 0.0
        if cell == B:
            for i in range(n_rows):
                to_left = b[i] - left[i] - margins[labels[i]]
                saved[i] = max(0.0, to_left, b[i] - others[i])
                most = max(most, saved[i])
        else:
            alone, margin = to_second if nearest == B else to_first, margins[B]
            for i in range(n_rows):
                saved[i] = max(0.0, alone[i], away[i] - b[i] - margin)
                most = max(most, saved[i])
        if most > 0.0:
            for g in (np.int64(groups[y]), n_columns - 1):
                out = move_costs[B, g, start:stop]
                for i in range(n_rows):
                    out[i] -= weights[y] * saved[i]


@njit
def correct_all(
    X, shift, weights, groups, labels, mass, mean_norms, mean_products, squared, cells,
    factors, shifts, once, least, slots, products, slack, share, reach, move_costs,
    start, stop,
):  # fmt: skip
    """Subtract what rows save by changing cells from the costs of all single moves.

    ``once`` are the rows that may, ``least`` their smallest margins. Rows further away
    than ``reach`` times the shifts of both means stay in their cells.
    OUT: move_costs[:, :, start:stop].
    """
    n_clusters = mass.shape[0]
    changes = np.empty((n_clusters, ROWS_A_TILE))
    for begin in range(start, stop, ROWS_A_TILE):
        end, furthest = min(begin + ROWS_A_TILE, stop), 0.0
        for i in range(begin, end):
            entering = 0.0
            for c in range(n_clusters):
                if c != labels[i]:
                    entering = max(entering, shifts[c, i])
            furthest = max(furthest, shifts[labels[i], i] + entering)
        for place in range(once.shape[0]):
            if least[place] > reach * furthest + slack:
                break
            changes_of_distances(
                once[place], X, shift, mass, mean_norms, mean_products, squared,
                factors, slots, products, changes, begin, end,
            )  # fmt: skip
            correct(
                once[place], weights, groups, labels, squared, cells, share, changes,
                move_costs, begin, end,
            )  # fmt: skip


@njit
def add_plain_costs(labels, plain, move_costs, start, stop):
    """move_costs[c, g, i] = plain cost of moving row i to c, whichever it is in.

    OUT: move_costs[:, :, start:stop].
    """
    n_clusters, n_columns, _ = plain.shape
    leaving = np.empty(stop - start)
    for g in range(n_columns):
        for i in range(start, stop):
            leaving[i - start] = plain[labels[i], g, i]
        for c in range(n_clusters):
            out, entering = move_costs[c, g, start:stop], plain[c, g, start:stop]
            for i in range(stop - start):
                out[i] = leaving[i] + entering[i]


@njit
def set_own_costs(weights, labels, members, move_costs, start, stop):
    """Set the costs of the cluster that a row is in: 0, or infinity if it is alone.

    OUT: move_costs[:, :, start:stop].
    """
    for i in range(start, stop):
        is_alone = members[labels[i]] == 1 and weights[i] > 0.0
        for g in range(move_costs.shape[1]):
            move_costs[labels[i], g, i] = np.inf if is_alone else 0.0


@njit
def fill_move_costs(
    X, shift, weights, groups, labels, members, mass, mean_norms, mean_products,
    squared, cells, plain, factors, shifts, once, least, slots, products, slack,
    move_costs, start, stop,
):  # fmt: skip
    """Fill the change in each group's cost if row i moves to another cluster c.

    move_costs[c, g, i] is the whole change; for the cluster that the row is in it is 0,
    or infinity if the row is its only member.  OUT: move_costs[:, :, start:stop].
    """
    add_plain_costs(labels, plain, move_costs, start, stop)
    correct_all(
        X, shift, weights, groups, labels, mass, mean_norms, mean_products, squared,
        cells, factors, shifts, once, least, slots, products, slack, 1.0, 1.0,
        move_costs, start, stop,
    )  # fmt: skip
    set_own_costs(weights, labels, members, move_costs, start, stop)
