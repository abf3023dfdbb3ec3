"""Costs of single moves if each row is served by its nearest mean; compiled.

A row x that leaves or enters a cluster of mass N shifts its mean m by D = t (x - m),
with t = w / (N + w) and w < 0 if it leaves. Let u = |m + D|^2 - |m|^2. If no row
changed its cell, the cost of group g in it, with n rows and sum S, would change by
    n[g] u - 2 t (x - m).S[g].
These are the *plain* costs of a move. Some rows do change their cells: only those whose
distances to two means differ by at most the shifts |D| of both. The kernels visit these
rows and correct the plain costs. A correction is never positive, as a row changes to a
nearer mean.

Letters and rules are those of ``move_kernels``, cells those of ``nearest_kernels``.
Numba's cache checks only the file of a function, so no compiled function calls one of
another file.
"""

import numpy as np

from rawlsian._support.compile import njit

# Rows whose moves are computed at a time: what they read stays in the cache.
ROWS_A_TILE = 1024


# --- Plain costs ---


@njit
def fill_plain_costs(
    c, counts, mean_dots, cell_products, factors, norm_changes, move_costs, start, stop
):
    """Fill the plain costs of rows that leave or enter cluster c.

    The last row is for all groups together.  OUT: move_costs[c, :, start:stop].
    """
    n_groups, n_rows = counts.shape[1], stop - start
    t, u = factors[c, start:stop], norm_changes[c, start:stop]
    total = move_costs[c, n_groups, start:stop]
    total[:] = 0.0
    for g in range(n_groups):
        out, cell = move_costs[c, g, start:stop], cell_products[c, g, start:stop]
        n, dots = counts[c, g], mean_dots[c, g]
        for i in range(n_rows):
            out[i] = n * u[i] - 2 * t[i] * (cell[i] - dots)
            total[i] += out[i]


# --- Corrections ---


@njit
def products_with_row(y, X, shift, slots, products, dots, start, stop):
    """Return the products of row y with rows start to stop - 1, from the table if held.

    OUT: dots, if they are not.
    """
    if slots[y] >= 0:
        return products[slots[y], start:stop]
    for i in range(stop - start):
        total = 0.0
        for j in range(X.shape[1]):
            total += (X[start + i, j] - shift[j]) * (X[y, j] - shift[j])
        dots[i] = total
    return dots[: stop - start]


@njit
def fill_changes(
    is_near, cell, margins, dots, products_of_y, factors, norm_changes, changes, start,
    stop,
):  # fmt: skip
    """Fill changes[c, i - start]: how moving row i changes y's distance to mean c.

    The mean moves by D = t (x - m), so |y - m|^2 changes by u - 2 D.y.
    Returns True if a move may bring y nearer to another mean than to that of its cell.
    OUT: changes of the means that are near.
    """
    n_rows, n_saving, away = stop - start, 0, changes[cell]
    t, u = factors[cell, start:stop], norm_changes[cell, start:stop]
    product = products_of_y[cell]
    for i in range(n_rows):
        away[i] = u[i] - 2 * t[i] * (dots[i] - product)
    for c in range(margins.shape[0]):
        if (c == cell) | (not is_near[c]):
            continue
        t, u = factors[c, start:stop], norm_changes[c, start:stop]
        out, product, margin = changes[c], products_of_y[c], margins[c]
        for i in range(n_rows):
            out[i] = u[i] - 2 * t[i] * (dots[i] - product)
        for i in range(n_rows):  # alone, so that both loops vectorise
            most = away[i] if away[i] > 0.0 else 0.0
            most -= out[i] if out[i] < 0.0 else 0.0
            n_saving += most > margin
    return n_saving > 0


@njit
def fill_savings(
    B, cell, labels, margins, nearest, first, second, changes, kept, leaving, saved
):
    """Fill what y saves in moves that enter B, above what it saves if they only leave.

    And for rows that leave B, what y saves by that. Returns the number that is not 0.
    OUT: saved.
    """
    n_rows, n_saving, b, own = labels.shape[0], 0, changes[B], changes[cell]
    if cell == B:
        for i in range(n_rows):
            third = second if labels[i] == nearest else first
            value = b[i] - (kept[i] if kept[i] < third else third)
            saved[i] = value if value > 0.0 else 0.0
    else:
        third, margin = second if nearest == B else first, margins[B]
        for i in range(n_rows):
            is_own = labels[i] == cell
            left = own[i] - third if is_own else -kept[i]
            value = (own[i] if is_own else 0.0) - b[i] - margin
            value = value if value > left else left
            saved[i] = value if value > 0.0 else 0.0
    for i in range(n_rows):
        saved[i] = leaving[i] if labels[i] == B else saved[i] - leaving[i]
        n_saving += saved[i] != 0.0
    return n_saving


@njit
def fill_leaving(cell, is_near, margins, first, labels, changes, kept, leaving):
    """Fill what y saves if a row only leaves its cluster.

    And kept, how much further the mean of that cluster then is than y's own; infinite
    for its own mean and those that are not near.  OUT: kept, leaving.
    """
    n_rows = labels.shape[0]
    kept[:] = np.inf
    leaving[:] = 0.0
    for c in range(margins.shape[0]):
        if not is_near[c]:
            continue
        change, margin = changes[c], margins[c]
        if c == cell:
            for i in range(n_rows):
                value = change[i] - first
                is_saved = (labels[i] == c) & (value > 0.0)
                leaving[i] = value if is_saved else leaving[i]
        else:
            for i in range(n_rows):
                value = change[i] + margin
                kept[i] = value if labels[i] == c else kept[i]
                is_saved = (labels[i] == c) & (value < 0.0)
                leaving[i] = -value if is_saved else leaving[i]


@njit
def correct(
    weight, group, cell, is_near, margins, labels, changes, scratch, is_corrected,
    move_costs, start, stop,
):  # fmt: skip
    """Subtract what row y saves in each move of rows start to stop - 1.

    Let a and b be the changes of y's squared distances to the cluster that is left and
    the one that is entered. The row saves the largest of 0 and of what its own mean
    moves away by, less what another mean moves away by, less the margin between them.
    Clusters that are not near cannot win the row. What it saves if a row only leaves
    its cluster is subtracted there; so only costs of near clusters change.
    OUT: is_corrected, move_costs[:, :, start:stop].
    """
    n_rows, n_columns = stop - start, move_costs.shape[1]
    labels, kept, leaving = labels[start:stop], scratch[0, :n_rows], scratch[1, :n_rows]
    saved = scratch[2, :n_rows]
    nearest, first, second = np.int64(-1), np.inf, np.inf  # margins
    for c in range(margins.shape[0]):
        if c != cell:
            second = min(second, max(first, margins[c]))
            if margins[c] < first:
                nearest, first = c, margins[c]
    fill_leaving(cell, is_near, margins, first, labels, changes, kept, leaving)
    for B in range(margins.shape[0]):
        if is_near[B] and fill_savings(
            B, cell, labels, margins, nearest, first, second, changes, kept, leaving,
            saved,
        ):  # fmt: skip
            is_corrected[B] = True
            for g in (group, n_columns - 1):
                out = move_costs[B, g, start:stop]
                for i in range(n_rows):
                    out[i] -= weight * saved[i]


@njit
def correct_rows(
    X, shift, weights, groups, labels, mass, label_products, squared, cells, factors,
    norm_changes, once, is_near, slots, products, share, less, is_corrected, move_costs,
    start, stop,
):  # fmt: skip
    """Subtract what these rows save from the costs of moves of rows start to stop - 1.

    Of the difference of squared distances, the margin, ``share`` counts after it is
    reduced by ``less``.  OUT: is_corrected, move_costs[:, :, start:stop].
    """
    n_clusters, n_rows = mass.shape[0], stop - start
    margins, products_of_y = np.empty(n_clusters), np.empty(n_clusters)
    dots, scratch = np.empty(n_rows), np.empty((3, n_rows))
    changes = np.empty((n_clusters, n_rows))
    for r in range(once.shape[0]):
        y = once[r]
        cell = np.int64(cells[y])
        for c in range(n_clusters):
            margins[c] = share * (squared[c, y] - squared[cell, y] - less)
            products_of_y[c] = 1 / mass[c] * label_products[c, 0, y]
        margins[cell] = np.inf
        with_y = products_with_row(y, X, shift, slots, products, dots, start, stop)
        if fill_changes(
            is_near[r], cell, margins, with_y, products_of_y, factors, norm_changes,
            changes, start, stop,
        ):  # fmt: skip
            correct(
                weights[y], np.int64(groups[y]), cell, is_near[r], margins, labels,
                changes, scratch, is_corrected, move_costs, start, stop,
            )  # fmt: skip


# --- Move costs ---


@njit
def fill_move_costs(
    X, shift, weights, groups, labels, members, mass, label_products, squared, cells,
    rows, sources, targets, counts, mean_dots, cell_products, factors, norm_changes,
    once, is_near, slots, products, is_changed, was_corrected, move_costs, start, stop,
):  # fmt: skip
    """Update the change in each group's cost if row i leaves or enters cluster c.

    ``rows`` went from the cells ``sources`` to ``targets``; ``once`` may go to others
    in a move, to those of is_near. Leaving a cluster of one costs infinity: k clusters
    stay k clusters.
    Returns is_corrected: True for clusters with costs that are not plain.
    OUT: cell_products[:, :, start:stop], move_costs[:, :, start:stop].
    """
    n_clusters = mass.shape[0]
    is_corrected = np.zeros(n_clusters, np.bool_)
    dots = np.empty(min(ROWS_A_TILE, stop - start))
    for begin in range(start, stop, ROWS_A_TILE):
        end = min(begin + ROWS_A_TILE, stop)
        for j in range(rows.shape[0]):
            y = rows[j]
            g, w = groups[y], weights[y]
            with_y = products_with_row(y, X, shift, slots, products, dots, begin, end)
            losing = cell_products[sources[j], g, begin:end]
            gaining = cell_products[targets[j], g, begin:end]
            for i in range(end - begin):
                losing[i] -= w * with_y[i]
                gaining[i] += w * with_y[i]
        for c in range(n_clusters):
            if is_changed[c] or was_corrected[c]:
                fill_plain_costs(
                    c, counts, mean_dots, cell_products, factors, norm_changes,
                    move_costs, begin, end,
                )  # fmt: skip
        correct_rows(
            X, shift, weights, groups, labels, mass, label_products, squared, cells,
            factors, norm_changes, once, is_near, slots, products, 1.0, 0.0,
            is_corrected, move_costs, begin, end,
        )  # fmt: skip
    if members.min() == 1:
        for i in range(start, stop):
            if members[labels[i]] == 1 and weights[i] > 0.0:
                move_costs[labels[i], :, i] = np.inf
    return is_corrected
