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
ROWS_A_TILE = 1024


# --- Distances and cells ---


@njit
def changed_cells(squared, cells, firsts, seconds, start, stop):
    """Return the rows whose nearest mean is not that of their cell, and the nearest.

    OUT: firsts, seconds: squared distances to the nearest and the next mean.
    """
    n_rows, nearest = stop - start, np.zeros(stop - start, np.int64)
    firsts, seconds = firsts[start:stop], seconds[start:stop]
    firsts[:] = squared[0, start:stop]
    seconds[:] = np.inf
    for c in range(1, squared.shape[0]):
        distance = squared[c, start:stop]
        for i in range(n_rows):
            value, first = distance[i], firsts[i]
            later = first if value < first else value
            seconds[i] = later if later < seconds[i] else seconds[i]
            firsts[i] = value if value < first else first
            nearest[i] = c if value < first else nearest[i]
    rows, n_found = np.empty(n_rows, np.int64), 0
    for i in range(n_rows):
        cell = cells[start + i]
        # A row in the cell of an equally near mean stays there.
        if nearest[i] != cell and firsts[i] < squared[cell, start + i]:
            rows[n_found] = i
            n_found += 1
    return start + rows[:n_found], nearest[rows[:n_found]]


@njit
def measure(
    norms, label_products, mass, mean_norms, is_changed, cells, mean_products, squared,
    distances, firsts, seconds, start, stop,
):  # fmt: skip
    """Compute products x.m and distances |x - m| of rows and the changed means.

    Returns the rows that are nearer to another mean than to that of their cell, and
    that mean.
    OUT: mean_products, squared, distances, firsts, seconds, each [..., start:stop].
    """
    for c in range(mass.shape[0]):
        if not is_changed[c]:
            continue
        label_product, norm, scale = label_products[c, 0], mean_norms[c], 1 / mass[c]
        label_product, norms_here = label_product[start:stop], norms[start:stop]
        product, value = mean_products[c, start:stop], squared[c, start:stop]
        distance = distances[c, start:stop]
        for i in range(stop - start):
            product[i] = scale * label_product[i]
        for i in range(stop - start):
            square = norms_here[i] - 2 * product[i] + norm
            value[i] = square if square > 0.0 else 0.0
        for i in range(stop - start):
            distance[i] = np.sqrt(value[i])
    return changed_cells(squared, cells, firsts, seconds, start, stop)


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
        product, r = mean_products[c, start:stop], squared[c, start:stop]
        t, length = factors[c, start:stop], shifts[c, start:stop]
        distance, norm = distances[c, start:stop], mean_norms[c]
        for i in range(n_rows):
            w = -weights[i] if labels[i] == c else weights[i]
            t[i] = w / (mass[c] + w)
        if members[c] == 1:
            for i in range(n_rows):
                t[i] = 0.0 if labels[i] == c else t[i]
        for i in range(n_rows):
            u[i] = t[i] * (t[i] * r[i] + 2 * (product[i] - norm))
        for i in range(n_rows):
            length[i] = abs(t[i]) * distance[i]
        total = plain[c, n_groups, start:stop]
        total[:] = 0.0
        for g in range(n_groups):
            out, cell = plain[c, g, start:stop], cell_products[c, g, start:stop]
            n, dots = counts[c, g], mean_dots[c, g]
            for i in range(n_rows):
                out[i] = n * u[i] - 2 * t[i] * (cell[i] - dots)
            for i in range(n_rows):
                total[i] += out[i]


@njit
def highest(values):
    """Return the largest of values that are not negative, eight at a time."""
    lanes = np.zeros(8)
    n_whole = values.shape[0] // 8 * 8
    for first in range(0, n_whole, 8):
        for lane in range(8):
            value = values[first + lane]
            lanes[lane] = value if value > lanes[lane] else lanes[lane]
    largest = lanes.max()
    for i in range(n_whole, values.shape[0]):
        largest = max(largest, values[i])
    return largest


@njit
def listed_once(rows, margins, n_samples, most):
    """Return the listed rows, each once, by their smallest margin, and slots.

    slots[i] is the place of row i among the first rows, at most ``most``, or -1.
    """
    slots, is_listed = np.full(n_samples, -1), np.zeros(n_samples, np.bool_)
    once, n_once = np.empty_like(rows), 0
    for place in np.argsort(margins):
        i = rows[place]
        if not is_listed[i]:
            is_listed[i] = True
            once[n_once] = i
            if n_once < most:
                slots[i] = n_once
            n_once += 1
    return once[:n_once], slots


@njit
def boundary(distances, firsts, seconds, cells, shifts, slack, most):
    """List for each cluster the rows that moves can bring into or out of its cell.

    The margin of row y for cluster c is how much further c is than the mean of its cell
    or, if c is its cell, how much further the next mean is. Listed are margins that
    the largest ``shifts`` of both means can bridge, sorted.
    Returns starts (of each cluster's list), rows and margins; and as ``listed_once``.
    """
    n_clusters, n_samples = distances.shape
    largest = np.array([highest(shifts[c]) for c in range(n_clusters)])
    widest = np.sort(largest)[-2:].sum() + slack
    is_near = np.empty(n_samples, np.bool_)
    for i in range(n_samples):
        # The difference of the distances is at most widest.
        most_second = firsts[i] + widest * (2 * np.sqrt(firsts[i]) + widest)
        is_near[i] = seconds[i] <= most_second
    near = np.flatnonzero(is_near)
    starts = np.zeros(n_clusters + 1, np.int64)
    rows = np.empty(n_clusters * near.shape[0], np.int64)
    margins, n_found = np.empty(rows.shape[0]), 0
    for c in range(n_clusters):
        for i in near:
            margin, own = np.inf, cells[i]
            for other in range(n_clusters):
                if other == own or (c != own and c != other):
                    continue
                reach = largest[own] + largest[other] + slack
                away = distances[other, i] - distances[own, i]
                margin = min(margin, away if away <= reach else np.inf)
            if margin < np.inf:
                rows[n_found], margins[n_found] = i, margin
                n_found += 1
        starts[c + 1], begin = n_found, starts[c]
        by_margin = np.argsort(margins[begin:n_found])
        rows[begin:n_found] = rows[begin:n_found][by_margin]
        margins[begin:n_found] = margins[begin:n_found][by_margin]
    rows, margins = rows[:n_found], margins[:n_found]
    once, slots = listed_once(rows, margins, n_samples, most)
    return starts, rows, margins, once, slots


@njit
def product_of_rows(X, shift, i, y):
    """Return (X[i] - shift) . (X[y] - shift)."""
    total = 0.0
    for j in range(X.shape[1]):
        total += (X[i, j] - shift[j]) * (X[y, j] - shift[j])
    return total


@njit
def changes_of_distances(
    y, is_near, X, shift, mean_norms, mean_products, squared, factors, slots, products,
    changes, start, stop,
):  # fmt: skip
    """Fill changes[c, i - start]: how moving row i changes y's distance to mean c.

    The mean moves by D = t (x - m), so |y - m|^2 changes by |D|^2 - 2 D.(y - m).
    It is infinite for means that are not near.  OUT: changes[:, : stop - start].
    """
    n_rows, dots = stop - start, np.empty(stop - start)
    if slots[y] >= 0:
        dots[:] = products[slots[y], start:stop]
    else:
        for i in range(n_rows):
            dots[i] = product_of_rows(X, shift, start + i, y)
    for c in range(mean_norms.shape[0]):
        if not is_near[c]:
            changes[c] = np.inf
        else:
            t, r = factors[c, start:stop], squared[c, start:stop]
            product, out = mean_products[c, start:stop], changes[c]
            rest = mean_norms[c] - mean_products[c, y]
            for i in range(n_rows):
                dot = dots[i] - product[i] + rest
                out[i] = t[i] * (t[i] * r[i] - 2 * dot)


@njit
def can_save(cell, is_near, margins, changes, n_rows):
    """Return True if a move can bring a row of this cell nearer to another mean."""
    away = changes[cell]
    for c in range(margins.shape[0]):
        if c == cell or not is_near[c]:
            continue
        closer, n_saving = changes[c], 0
        for i in range(n_rows):
            most = away[i] if away[i] > 0.0 else 0.0
            most -= closer[i] if closer[i] < 0.0 else 0.0
            n_saving += most > margins[c]
        if n_saving > 0:
            return True
    return False


@njit
def correct(
    y, is_near, weights, groups, labels, squared, cells, share, less, changes, scratch,
    move_costs, start, stop,
):  # fmt: skip
    """Subtract what row y saves in each move of rows start to stop - 1.

    Let a and b be the changes of y's squared distances to the cluster that is left and
    the one that is entered. The row saves the largest of 0 and of what its own mean
    moves away by, less what another mean moves away by, less the margin between them:
    the difference of squared distances, of which ``share`` counts after it is reduced
    by ``less``. Clusters that are not near cannot win the row.
    OUT: move_costs[:, :, start:stop].
    """
    n_clusters, n_columns, _ = move_costs.shape
    n_rows, cell, labels = stop - start, cells[y], labels[start:stop]
    margins = share * (squared[:, y] - squared[cell, y] - less)
    margins[cell] = np.inf
    nearest = np.argmin(margins)
    first = margins[nearest]
    margins[nearest] = np.inf
    second = margins.min()  # infinite if there are only two clusters
    margins[nearest] = first
    if not can_save(cell, is_near, margins, changes, n_rows):
        return
    own, kept, saved = scratch[0, :n_rows], scratch[1, :n_rows], scratch[2, :n_rows]
    away, n_leaving = scratch[3, :n_rows], 0
    for i in range(n_rows):
        A = labels[i]
        saved[i] = changes[A, i]
        kept[i] = saved[i] + margins[A]  # infinite in its own cell
    for i in range(n_rows):
        own[i] = saved[i] if labels[i] == cell else -np.inf
        away[i] = saved[i] if labels[i] == cell else 0.0
    for i in range(n_rows):
        n_leaving += (own[i] > first) | (kept[i] < 0.0)
    for B in range(n_clusters):
        if n_leaving == 0 and not is_near[B]:
            continue
        b, margin, n_saving = changes[B], margins[B], 0
        if cell == B:
            for i in range(n_rows):
                third = second if labels[i] == nearest else first
                value = b[i] - (kept[i] if kept[i] < third else third)
                saved[i] = value if (value > 0.0) & (labels[i] != B) else 0.0
                n_saving += saved[i] > 0.0
        else:
            third = second if nearest == B else first
            for i in range(n_rows):
                leaving = own[i] - third
                leaving = leaving if leaving > -kept[i] else -kept[i]
                value = away[i] - b[i] - margin
                value = value if value > leaving else leaving
                saved[i] = value if (value > 0.0) & (labels[i] != B) else 0.0
                n_saving += saved[i] > 0.0
        if n_saving > 0:
            for g in (np.int64(groups[y]), n_columns - 1):
                out = move_costs[B, g, start:stop]
                for i in range(n_rows):
                    out[i] -= weights[y] * saved[i]


@njit
def correct_all(
    X, shift, weights, groups, labels, mean_norms, mean_products, squared, distances,
    cells, factors, shifts, once, slots, products, slack, share, less, reach,
    move_costs, start, stop,
):  # fmt: skip
    """Subtract what rows save by changing cells from the costs of all single moves.

    ``once`` are the rows that may. A row stays in its cell if another mean is further
    away than ``reach`` times the shifts of both means.
    OUT: move_costs[:, :, start:stop].
    """
    n_clusters = mean_norms.shape[0]
    changes = np.empty((n_clusters, min(ROWS_A_TILE, stop - start)))
    scratch = np.empty((4, changes.shape[1]))
    is_near, largest = np.empty(n_clusters, np.bool_), np.empty(n_clusters)
    for begin in range(start, stop, ROWS_A_TILE):
        end = min(begin + ROWS_A_TILE, stop)
        for c in range(n_clusters):
            largest[c] = reach * highest(shifts[c, begin:end])
        for y in once:
            own, n_near = cells[y], 0
            for c in range(n_clusters):
                margin = distances[c, y] - distances[own, y]
                is_near[c] = margin <= largest[own] + largest[c] + slack
                n_near += is_near[c]
            if n_near == 1:  # its own
                continue
            changes_of_distances(
                y, is_near, X, shift, mean_norms, mean_products, squared, factors,
                slots, products, changes, begin, end,
            )  # fmt: skip
            correct(
                y, is_near, weights, groups, labels, squared, cells, share, less,
                changes, scratch, move_costs, begin, end,
            )  # fmt: skip


@njit
def fill_move_costs(
    X, shift, weights, groups, labels, members, mean_norms, mean_products, squared,
    distances, cells, plain, factors, shifts, once, slots, products, slack, move_costs,
    start, stop,
):  # fmt: skip
    """Fill the change in each group's cost if row i leaves or enters cluster c.

    What rows save in a move is subtracted where it enters. Leaving a cluster of one
    costs infinity: k clusters stay k clusters.  OUT: move_costs[:, :, start:stop].
    """
    n_clusters, n_columns, _ = plain.shape
    for c in range(n_clusters):
        for g in range(n_columns):
            move_costs[c, g, start:stop] = plain[c, g, start:stop]
    correct_all(
        X, shift, weights, groups, labels, mean_norms, mean_products, squared,
        distances, cells, factors, shifts, once, slots, products, slack, 1.0, 0.0, 1.0,
        move_costs, start, stop,
    )  # fmt: skip
    if members.min() == 1:
        for i in range(start, stop):
            if members[labels[i]] == 1 and weights[i] > 0.0:
                move_costs[labels[i], :, i] = np.inf
