"""Moves of rows: their effect on sums, their costs, searches, selection; compiled.

Arrays and scalars in; each function names the arguments that it writes. Letters are
those of ``cluster_sums``: row i, group g, cluster c, weight w, x = X[i] - shift,
counts n, sums S, squares Q, mass N and mean m.

Reductions run in one fixed order and nothing is reordered (no fastmath), so results
do not depend on how rows are divided among threads. Equal rows get equal bits, so the
index decides ties between them.

Numba's cache checks only the file of a function: compiled code that had inlined a
kernel of another file would stay stale when that file changed. So no compiled function
calls one of another file, here or anywhere. That makes this file longer than 500 lines.
"""

import numpy as np

from rawlsian._support.compile import njit

# Rows per buffer of a kernel: the buffer stays in the cache.
ROWS_A_TILE = 4096

# Rows of X that stay in the cache while several products with them are computed.
ROWS_READ_AGAIN = 1024


# --- Statistics ---


@njit
def reassign(
    X, shift, norms, weights, groups, examples, targets,
    labels, members, counts, sums, squares, is_changed, sources,
):  # fmt: skip
    """Move each example to its target and mark the clusters that change.

    OUT: labels, members, counts, sums, squares, is_changed; sources, the clusters
    that the examples were in.
    """
    is_changed[:] = False
    for move in range(examples.shape[0]):
        i = examples[move]
        source, target, g = np.int64(labels[i]), targets[move], groups[i]
        sources[move] = source
        labels[i] = target
        is_changed[source] = is_changed[target] = True
        for is_entered in range(2):
            c, sign = (target, 1) if is_entered else (source, -1)
            w = sign * weights[i]
            if weights[i] > 0.0:
                members[c] += sign
            counts[c, g] += w
            squares[c, g] += w * norms[i]
            for j in range(X.shape[1]):
                sums[c, g, j] += w * (X[i, j] - shift[j])


@njit
def summarise(
    counts, sums, squares, group_sizes, max_distance, is_changed,
    mass, mean_norms, mean_dots, costs, utilities,
):  # fmt: skip
    """Compute means and costs of the changed clusters, and the group utilities.

    mass = N, mean_norms = m.m, mean_dots[g] = m.S[g],
    costs[g] = sum of w |x - m|^2 over members of g = Q[g] - 2 m.S[g] + n[g] m.m,
    utilities[g] = delta - sum_c costs[c, g] / N_g.
    OUT: mass, mean_norms, mean_dots, costs of the changed clusters; utilities.
    """
    n_clusters, n_groups, n_features = sums.shape
    mean = np.empty(n_features)
    for c in range(n_clusters):
        if not is_changed[c]:
            continue
        mass[c] = 0.0
        mean[:] = 0.0
        for g in range(n_groups):
            mass[c] += counts[c, g]
            for j in range(n_features):
                mean[j] += sums[c, g, j]
        norm = 0.0
        for j in range(n_features):
            mean[j] /= mass[c]
            norm += mean[j] * mean[j]
        mean_norms[c] = norm
        for g in range(n_groups):
            product = 0.0
            for j in range(n_features):
                product += mean[j] * sums[c, g, j]
            mean_dots[c, g] = product
            cost = squares[c, g] - 2 * product + counts[c, g] * norm
            costs[c, g] = max(cost, 0.0)  # rounding can leave -1e-17
    for g in range(n_groups):
        total = 0.0
        for c in range(n_clusters):
            total += costs[c, g]
        utilities[g] = max_distance - total / group_sizes[g]


# --- Rows ---


@njit
def nonzero_entries(X, shift, i, columns, values):
    """Write the non-zero entries of X[i] - shift and return their number.

    This module skips zeros everywhere: one-hot rows are mostly zeros.
    OUT: columns, values.
    """
    n_nonzero = 0
    for j in range(X.shape[1]):
        value = X[i, j] - shift[j]
        if value != 0.0:
            columns[n_nonzero] = j
            values[n_nonzero] = value
            n_nonzero += 1
    return n_nonzero


@njit
def dot(X, shift, i, columns, values, n_nonzero):
    """Return (X[i] - shift) . v, with v given by its non-zero entries."""
    total = 0.0
    for entry in range(n_nonzero):
        j = columns[entry]
        total += (X[i, j] - shift[j]) * values[entry]
    return total


# --- Products P[c, g, i] = x . S[c, g] ---


@njit
def fill_products(X, shift, sums, products, start, stop):
    """products[c, g, i] = x . S[c, g].  OUT: products[:, :, start:stop]."""
    n_clusters, n_groups, _ = products.shape
    n_features = X.shape[1]
    # One row per feature: the innermost loop runs over contiguous memory.
    columns_of_sums = np.empty((n_features, n_clusters * n_groups))
    for j in range(n_features):
        for c in range(n_clusters):
            for g in range(n_groups):
                columns_of_sums[j, c * n_groups + g] = sums[c, g, j]
    row = np.empty(n_clusters * n_groups)
    for i in range(start, stop):
        row[:] = 0.0
        for j in range(n_features):
            value = X[i, j] - shift[j]
            if value != 0.0:
                for cell in range(row.shape[0]):
                    row[cell] += value * columns_of_sums[j, cell]
        for c in range(n_clusters):
            for g in range(n_groups):
                products[c, g, i] = row[c * n_groups + g]


@njit
def products_with_row(
    X, columns_of_X, shift, columns, values, n_nonzero, start, stop, out
):  # fmt: skip
    """out[i - start] = (X[i] - shift) . v, with v given by its non-zero entries.

    ``columns_of_X`` is the transpose of X - shift, or empty. With it the loop
    vectorises, in the same order and so with the same bits.  OUT: out[: stop - start].
    """
    n_rows = stop - start
    if columns_of_X.shape[0] == 0:
        for i in range(n_rows):
            out[i] = dot(X, shift, start + i, columns, values, n_nonzero)
        return
    out[:n_rows] = 0.0
    for entry in range(n_nonzero):
        column, value = columns_of_X[columns[entry], start:stop], values[entry]
        for i in range(n_rows):
            out[i] += column[i] * value


@njit
def fill_row_products(X, columns_of_X, shift, rows, places, products, start, stop):
    """products[places[r], i] = x . (X[rows[r]] - shift).

    Rows of X are read once, tile by tile.  OUT: products[places, start:stop].
    """
    columns, values = np.empty(X.shape[1], np.int64), np.empty(X.shape[1])
    for first in range(start, stop, ROWS_READ_AGAIN):
        last = min(first + ROWS_READ_AGAIN, stop)
        for r in range(rows.shape[0]):
            n_nonzero = nonzero_entries(X, shift, rows[r], columns, values)
            products_with_row(
                X, columns_of_X, shift, columns, values, n_nonzero, first, last,
                products[places[r], first:last],
            )  # fmt: skip


@njit
def update_products(
    X, columns_of_X, shift, weights, groups, examples, sources, targets, products,
    start, stop,
):  # fmt: skip
    """P[source, g] -= w X x and P[target, g] += w X x for each moved row x.

    OUT: products[:, :, start:stop].
    """
    columns, values = np.empty(X.shape[1], np.int64), np.empty(X.shape[1])
    out = np.empty(min(ROWS_READ_AGAIN, stop - start))
    for first in range(start, stop, ROWS_READ_AGAIN):
        last = min(first + ROWS_READ_AGAIN, stop)
        for move in range(examples.shape[0]):
            x = examples[move]
            w, g, source, target = weights[x], groups[x], sources[move], targets[move]
            n_nonzero = nonzero_entries(X, shift, x, columns, values)
            products_with_row(
                X, columns_of_X, shift, columns, values, n_nonzero, first, last, out
            )
            losing, gaining = products[source, g, first:], products[target, g, first:]
            for i in range(last - first):
                losing[i] -= w * out[i]
                gaining[i] += w * out[i]


# --- Move costs: change in each group's cost when a row enters or leaves a cluster ---


@njit
def fill_cluster_move_costs(
    c, norms, weights, groups, labels, members, counts, mass, mean_norms, mean_dots,
    products, move_costs, start, stop,
):  # fmt: skip
    """Fill move_costs[c, g, i]: change in g's cost if row i enters or leaves c.

    Let r = |x - m|^2, p = (x - m).m and t = w / (N + w): the mean moves by t (x - m).
    The cost of group g changes by n[g] t^2 r - 2 t (x - m).(S[g] - n[g] m), and the
    row's own group pays w (1 - t)^2 r = N t (1 - t) r in addition. The sum over groups
    is N t r, kept as the last row of move_costs[c]. Leaving is entering with weight
    -w. Leaving a cluster of one costs infinity: k clusters stay k clusters.
    Loops are short and read few slices, so they vectorise.
    OUT: move_costs[c, :, start:stop].
    """
    n_groups, n_rows = products.shape[1], stop - start
    norms, weights = norms[start:stop], weights[start:stop]
    groups, labels = groups[start:stop], labels[start:stop]
    t, u = np.empty(n_rows), np.empty(n_rows)
    total = move_costs[c, n_groups, start:stop]
    total[:] = 0.0
    for g in range(n_groups):
        product = products[c, g, start:stop]
        for i in range(n_rows):
            total[i] += product[i]  # x.S until the loop below
    for i in range(n_rows):
        w = -weights[i] if labels[i] == c else weights[i]
        t[i] = w / (mass[c] + w)
    for i in range(n_rows):
        p = total[i] / mass[c] - mean_norms[c]
        r = norms[i] - 2 * p - mean_norms[c]
        u[i] = t[i] * (t[i] * r + 2 * p)
        total[i] = mass[c] * t[i] * r
    for g in range(n_groups):
        product, out = products[c, g, start:stop], move_costs[c, g, start:stop]
        n, dots = counts[c, g], mean_dots[c, g]
        for i in range(n_rows):
            own = total[i] * (1 - t[i]) if groups[i] == g else 0.0
            out[i] = n * u[i] - 2 * t[i] * (product[i] - dots) + own
    if members[c] == 1:
        for i in range(n_rows):
            if labels[i] == c and weights[i] > 0.0:
                move_costs[c, :, start + i] = np.inf


@njit
def fill_move_costs(
    norms, weights, groups, labels, members, counts, mass, mean_norms, mean_dots,
    products, is_changed, move_costs, start, stop,
):  # fmt: skip
    """Fill move costs of the changed clusters.  OUT: move_costs[:, :, start:stop]."""
    for first in range(start, stop, ROWS_A_TILE):
        last = min(first + ROWS_A_TILE, stop)
        for c in range(members.shape[0]):
            if is_changed[c]:
                fill_cluster_move_costs(
                    c, norms, weights, groups, labels, members, counts, mass,
                    mean_norms, mean_dots, products, move_costs, first, last,
                )  # fmt: skip


# --- Proposals ---
#
# A search visits moves in order. A move is admitted only if the cost of the least
# advantaged group falls. With keep_all a search returns every admitted move; otherwise
# only contenders, which may still be the best in the order of best_proposal. A limit on
# the change in total cost, lowered with each contender, rules out nearly all other
# moves. The moves ruled out are worse by more than rounding, so the division of a
# search into chunks does not matter.


@njit
def judge(proposed, j, utilities, tolerance):
    """Return is_admitted (the lowest utility rises), is_harmless (no group loses)."""
    lowest = utilities[0]
    for g in range(utilities.shape[0]):
        lowest = min(lowest, utilities[g])
    is_admitted, is_harmless = True, True
    for g in range(utilities.shape[0]):
        is_admitted &= proposed[j, g] > lowest + tolerance
        is_harmless &= proposed[j, g] >= utilities[g] - tolerance
    return is_admitted, is_harmless


@njit
def next_limit(limit, slack, keep_all, change, is_harmless):
    """Return the limit on the change in total cost after finding this change.

    A harmless move costs at most ``slack`` in total. So a move that is not harmless
    rules out moves that cost more than itself and more than slack; a harmless move
    rules out all that cost more than itself.
    """
    if keep_all:
        return limit
    if not is_harmless:
        change = max(change, slack)
    return min(limit, change + slack)


@njit
def doubled(array):
    """Return a copy of the array with twice its length."""
    return np.concatenate((array, np.empty_like(array)))


@njit
def best_in_rows(labels, move_costs, lag, start, stop):
    """Return for each row the lowest change in total cost that helps group lag.

    Infinite for a row without such a move. single_moves skips rows by it.
    """
    n_clusters, n_columns, n_samples = move_costs.shape
    total, n_rows = n_columns - 1, stop - start
    leave, leave_lag = np.empty(n_rows), np.empty(n_rows)
    flat = move_costs.ravel()
    for i in range(n_rows):
        # Unsigned, as numba looks for negative positions otherwise.
        plane = np.uint64(labels[start + i]) * np.uint64(n_columns)
        at = plane * np.uint64(n_samples) + np.uint64(start + i)
        leave[i] = flat[at + np.uint64(total * n_samples)]
        leave_lag[i] = flat[at + np.uint64(lag * n_samples)]
    best = np.full(n_rows, np.inf)
    labels = labels[start:stop]
    for c in range(n_clusters):
        enter = move_costs[c, total, start:stop]
        enter_lag = move_costs[c, lag, start:stop]
        for i in range(n_rows):
            helps = (labels[i] != c) & (leave_lag[i] + enter_lag[i] < 0.0)
            change = leave[i] + enter[i] if helps else np.inf
            best[i] = change if change < best[i] else best[i]
    return best


@njit
def single_moves(
    labels, utilities, group_sizes, tolerance, move_costs, keep_all, start, stop
):  # fmt: skip
    """Search the single moves of rows start to stop - 1.

    Move i (k - 1) + t takes row i to the t-th of the other clusters.
    Returns the numbers of the moves found and the group utilities after each.
    """
    n_clusters, n_groups = move_costs.shape[0], utilities.shape[0]
    best = best_in_rows(labels, move_costs, utilities.argmin(), start, stop)
    slack, limit = tolerance * group_sizes.sum(), np.inf
    found, out, n_found = np.empty(64, np.int64), np.empty((64, n_groups)), 0
    for i in range(start, stop):
        if best[i - start] >= limit:
            continue
        label = labels[i]
        for other in range(n_clusters - 1):
            c = other + (other >= label)
            change = move_costs[label, n_groups, i] + move_costs[c, n_groups, i]
            if change >= limit:
                continue
            for g in range(n_groups):
                loss = (move_costs[label, g, i] + move_costs[c, g, i]) / group_sizes[g]
                out[n_found, g] = utilities[g] - loss
            is_admitted, is_harmless = judge(out, n_found, utilities, tolerance)
            if not is_admitted:
                continue
            limit = next_limit(limit, slack, keep_all, change, is_harmless)
            found[n_found] = i * (n_clusters - 1) + other
            n_found += 1
            if n_found == found.shape[0]:
                found, out = doubled(found), doubled(out)
    return found[:n_found], out[:n_found]


@njit
def enter_cluster(
    c, w, x, first, dots, norms, weights, groups, labels,
    members, counts, mass, mean_norms, mean_dots, products, move_costs,
):  # fmt: skip
    """Let row x enter cluster c with weight w, or leave it with weight -w.

    ``dots`` holds the products of x with the rows from first on; only these rows are
    updated. Entering a cluster that x left empty costs nothing. All rows have weight.
    OUT: members, counts, mass, mean_norms, mean_dots, products, move_costs, at c.
    """
    n_groups, n_rows = counts.shape[1], norms.shape[0]
    old, new, norm, h = mass[c], mass[c] + w, norms[x], groups[x]
    members[c] += 1 if w > 0.0 else -1
    if members[c] == 0:
        move_costs[c] = 0.0
        return
    p = 0.0
    for g in range(n_groups):
        p += products[c, g, x]
        mean_dots[c, g] = (old * mean_dots[c, g] + w * products[c, g, x]) / new
    mean_dots[c, h] += w * (p + w * norm) / new
    mean_norms[c] = (old * old * mean_norms[c] + w * (2 * p + w * norm)) / (new * new)
    mass[c] = new
    counts[c, h] += w
    product = products[c, h, first:]
    for y in range(product.shape[0]):
        product[y] += w * dots[first + y]
    fill_cluster_move_costs(
        c, norms, weights, groups, labels, members, counts, mass, mean_norms,
        mean_dots, products, move_costs, first, n_rows,
    )  # fmt: skip


@njit
def restore_cluster(
    c, first, from_members, from_counts, from_mass, from_norms, from_dots,
    from_products, from_move_costs, members, counts, mass, mean_norms, mean_dots,
    products, move_costs,
):  # fmt: skip
    """Restore cluster c from the ``from_`` arrays, for the rows from first on.

    OUT: members, counts, mass, mean_norms, mean_dots, products, move_costs, at c.
    """
    members[c], mass[c], mean_norms[c] = from_members[c], from_mass[c], from_norms[c]
    n_groups, n_rows = products.shape[1:]
    for g in range(n_groups):
        counts[c, g], mean_dots[c, g] = from_counts[c, g], from_dots[c, g]
        for y in range(first, n_rows):
            products[c, g, y] = from_products[c, g, y]
    for g in range(n_groups + 1):
        for y in range(first, n_rows):
            move_costs[c, g, y] = from_move_costs[c, g, y]


@njit
def pooled_loss(own, everyone, loss, total):
    """Return the loss of a pooled group, from its own loss and that of all groups."""
    return own * loss + everyone * total if everyone > 0.0 else loss


@njit
def pair_moves(
    X, shift, examples, norms, weights, groups, labels, members, counts, mass,
    mean_norms, mean_dots, products, move_costs, own, everyone, utilities, group_sizes,
    tolerance, rows, targets, start, stop,
):  # fmt: skip
    """Search the pairs a < b of the given single moves, for a in start to stop - 1.

    Move a takes row ``rows[a]`` to ``targets[a]``. Moves are sorted by row; row y is
    ``X[examples[y]]`` and has weight. Move a is made on a scratch copy of the
    statistics, in which two clusters change; the second move is then a single move.
    Returns the pairs found as numbers a n_moves + b, and the utilities after each.
    """
    n_moves, n_rows, n_groups = rows.shape[0], norms.shape[0], utilities.shape[0]
    lag = utilities.argmin()
    found, out, n_found = np.empty(64, np.int64), np.empty((64, n_groups)), 0
    columns, values = np.empty(X.shape[1], np.int64), np.empty(X.shape[1])
    dots, both = np.empty(n_rows), np.empty(n_groups + 1)
    original = (members, counts, mass, mean_norms, mean_dots, products, move_costs)
    scratch = (
        members.copy(), counts.copy(), mass.copy(), mean_norms.copy(),
        mean_dots.copy(), products.copy(), move_costs.copy(),
    )  # fmt: skip
    # Positions of the costs of a move's two clusters in the scratch move_costs.
    after, stride = scratch[6].ravel(), n_rows * (n_groups + 1)
    least, last = np.uint64(lag * n_rows), np.uint64(n_groups * n_rows)
    leave, enter = np.empty(n_moves, np.uint64), np.empty(n_moves, np.uint64)
    for b in range(n_moves):
        leave[b] = labels[rows[b]] * stride + rows[b]
        enter[b] = targets[b] * stride + rows[b]
    x, A, second = -1, -1, 0
    for a in range(start, stop):
        if rows[a] != x:
            if x >= 0:
                restore_cluster(A, x + 1, *original, *scratch)
            x, second = rows[a], a + 1
            A = np.int64(labels[x])
            while second < n_moves and rows[second] == x:
                second += 1
            n_nonzero = nonzero_entries(X, shift, examples[x], columns, values)
            for y in range(x + 1, n_rows):
                dots[y] = dot(X, shift, examples[y], columns, values, n_nonzero)
            enter_cluster(
                A, -weights[x], x, x + 1, dots, norms, weights, groups, labels, *scratch
            )
        B = targets[a]
        enter_cluster(
            B, weights[x], x, x + 1, dots, norms, weights, groups, labels, *scratch
        )
        is_emptied = scratch[0][A] == 0
        for g in range(n_groups + 1):
            both[g] = move_costs[B, g, x] + (0.0 if is_emptied else move_costs[A, g, x])
        for b in range(second, n_moves):
            if is_emptied and targets[b] != A:
                continue
            loss, total = both[lag] + after[leave[b] + least], 0.0
            loss += after[enter[b] + least]
            if everyone > 0.0:
                total = both[n_groups] + after[leave[b] + last] + after[enter[b] + last]
                loss = pooled_loss(own, everyone, loss, total)
            if not loss < 0.0:
                continue
            for g in range(n_groups):
                plane = np.uint64(g * n_rows)
                loss = both[g] + after[leave[b] + plane] + after[enter[b] + plane]
                loss = pooled_loss(own, everyone, loss, total)
                out[n_found, g] = utilities[g] - loss / group_sizes[g]
            if not judge(out, n_found, utilities, tolerance)[0]:
                continue
            found[n_found] = a * n_moves + b
            n_found += 1
            if n_found == found.shape[0]:
                found, out = doubled(found), doubled(out)
        restore_cluster(B, x + 1, *original, *scratch)
    return found[:n_found], out[:n_found]


@njit
def pairing_costs(
    norms, weights, labels, mass, mean_norms, products, move_costs, examples, targets,
    costs, saved,
):  # fmt: skip
    """Compute each move's total cost, and a bound on the saving by pairing it.

    Rows with signed weights w_i (negative: they leave), at e_i from the mean of a
    cluster of mass N, change its cost by sum w_i |e_i|^2 - |sum w_i e_i|^2 /
    (N + sum w_i). So the sum of the costs of two single moves exceeds the cost of
    the pair by at most (|w_x e_x| + |w_y e_y|)^2 / (N - w_x - w_y) for each cluster
    that they share.  OUT: costs, saved.
    """
    n_clusters, n_groups, n_samples = products.shape
    distances, reach = np.empty((n_clusters, n_samples)), np.zeros(n_clusters)
    for c in range(n_clusters):
        for i in range(n_samples):
            p = 0.0
            for g in range(n_groups):
                p += products[c, g, i]
            squared = norms[i] - 2 * p / mass[c] + mean_norms[c]
            distances[c, i] = weights[i] * np.sqrt(max(squared, 0.0))
            reach[c] = max(reach[c], distances[c, i])
    heaviest = weights.max()
    for move in range(examples.shape[0]):
        i = examples[move]
        A, B = labels[i], targets[move]
        costs[move] = move_costs[A, n_groups, i] + move_costs[B, n_groups, i]
        room = min(mass[A], mass[B]) - weights[i] - heaviest
        saved[move] = np.inf
        if room > 0.0:
            reached = (distances[A, i] + reach[A]) ** 2
            saved[move] = (reached + (distances[B, i] + reach[B]) ** 2) / room


@njit
def promising_pairs(
    X, shift, norms, weights, groups, labels, members, counts, mass, mean_norms,
    mean_dots, products, move_costs, own, everyone, utilities, group_sizes, tolerance,
    examples, targets, costs, saved, order, limit, places,
):  # fmt: skip
    """Search the pairs that may cost less than limit in total.

    ``order`` sorts the moves by their costs alone. The first move of a pair is the
    cheaper one, at one of these ``places`` in the order; it is made on a scratch copy
    of the statistics. So few first moves qualify, and few dearer ones with each.
    (An infinite cost comes with an infinite saving and makes comparisons here false.)
    Returns the pairs found as numbers a n_moves + b with a < b, and the utilities
    after each, in no particular order.
    """
    n_moves, n_samples, n_groups = order.shape[0], norms.shape[0], utilities.shape[0]
    slack, lag = tolerance * group_sizes.sum(), utilities.argmin()
    found, out, n_found = np.empty(64, np.int64), np.empty((64, n_groups)), 0
    columns, values = np.empty(X.shape[1], np.int64), np.empty(X.shape[1])
    dots, both = np.empty(n_samples), np.empty(n_groups + 1)
    original = (members, counts, mass, mean_norms, mean_dots, products, move_costs)
    scratch = (
        members.copy(), counts.copy(), mass.copy(), mean_norms.copy(),
        mean_dots.copy(), products.copy(), move_costs.copy(),
    )  # fmt: skip
    # Positions of the costs of a move's two clusters in the scratch move_costs.
    after, stride = scratch[6].ravel(), n_samples * (n_groups + 1)
    least, last = np.uint64(lag * n_samples), np.uint64(n_groups * n_samples)
    leave, enter = np.empty(n_moves, np.uint64), np.empty(n_moves, np.uint64)
    for later in range(n_moves):
        y = examples[order[later]]
        leave[later] = labels[y] * stride + y
        enter[later] = targets[order[later]] * stride + y
    for place in places:
        a = order[place]
        if 2 * costs[a] - saved[a] >= limit:
            continue
        x, B = examples[a], targets[a]
        A = np.int64(labels[x])
        n_nonzero = nonzero_entries(X, shift, x, columns, values)
        for y in range(n_samples):
            dots[y] = dot(X, shift, y, columns, values, n_nonzero)
        for c, w in ((A, -weights[x]), (B, weights[x])):
            enter_cluster(c, w, x, 0, dots, norms, weights, groups, labels, *scratch)
        is_emptied = scratch[0][A] == 0
        for g in range(n_groups + 1):
            both[g] = move_costs[B, g, x] + (0.0 if is_emptied else move_costs[A, g, x])
        for later in range(place + 1, n_moves):
            b = order[later]
            if costs[a] + costs[b] - saved[a] >= limit:
                break
            # First what rules out most pairs: the group that is lowest must gain.
            loss = both[lag] + (
                after[leave[later] + least] + after[enter[later] + least]
            )
            total = both[n_groups] + (
                after[leave[later] + last] + after[enter[later] + last]
            )
            loss = pooled_loss(own, everyone, loss, total)
            if not loss < 0.0 or total >= limit:
                continue
            if examples[b] == x or (is_emptied and targets[b] != A):
                continue
            for g in range(n_groups):
                plane = np.uint64(g * n_samples)
                loss = both[g] + (
                    after[leave[later] + plane] + after[enter[later] + plane]
                )
                loss = pooled_loss(own, everyone, loss, total)
                out[n_found, g] = utilities[g] - loss / group_sizes[g]
            is_admitted, is_harmless = judge(out, n_found, utilities, tolerance)
            if not is_admitted:
                continue
            limit = next_limit(limit, slack, False, total, is_harmless)
            found[n_found] = min(a, b) * n_moves + max(a, b)
            n_found += 1
            if n_found == found.shape[0]:
                found, out = doubled(found), doubled(out)
        for c in (A, B):
            restore_cluster(c, 0, *original, *scratch)
    return found[:n_found], out[:n_found]


@njit
def overall_utilities(utilities, shares):
    """overall[j] = sum_g shares[g] utilities[j, g], in the order of best_proposal."""
    overall = np.zeros(utilities.shape[0])
    for j in range(utilities.shape[0]):
        for g in range(utilities.shape[1]):
            overall[j] += shares[g] * utilities[j, g]
    return overall


@njit
def best_proposal(proposed, utilities, shares, tolerance):
    """Return the best proposal in the paper's order of preference, or -1.

    Admitted: the lowest utility rises. Preferred: no group loses. Then: highest
    overall utility. Then: lowest index.
    Returns its index, is_harmless and overall utility.
    """
    n_groups = proposed.shape[1]
    now = 0.0
    for g in range(n_groups):
        now += shares[g] * utilities[g]
    best, best_harmless, best_overall = -1, False, -np.inf
    for j in range(proposed.shape[0]):
        overall = 0.0
        for g in range(n_groups):
            overall += shares[g] * proposed[j, g]
        # A harmless proposal cannot lower the overall utility, so this rules out most
        # proposals.
        if overall <= best_overall and (best_harmless or overall < now - 2 * tolerance):
            continue
        is_admitted, is_harmless = judge(proposed, j, utilities, tolerance)
        if not is_admitted or (best_harmless and not is_harmless):
            continue
        if overall > best_overall or (is_harmless and not best_harmless):
            best, best_harmless, best_overall = j, is_harmless, overall
    return best, best_harmless, best_overall


# --- Steps of R1 ---


@njit
def make_best_single(
    X, columns_of_X, shift, norms, weights, groups, labels, members, counts, sums,
    squares, is_changed, products, utilities, group_sizes, shares, tolerance,
    move_costs, examples, sources, targets, step,
):  # fmt: skip
    """Make the best single move; return False if none is admitted.

    Calls the kernels that R1, the selection and ``move`` call.
    OUT: labels, members, counts, sums, squares, is_changed, products; the move, in
    examples, sources and targets at ``step``.
    """
    n_samples, here = labels.shape[0], slice(step, step + 1)
    singles, proposed = single_moves(
        labels, utilities, group_sizes, tolerance, move_costs, False, 0, n_samples
    )
    best, _, _ = best_proposal(proposed, utilities, shares, tolerance)
    if best < 0:
        return False
    example, target = divmod(singles[best], members.shape[0] - 1)
    examples[step] = example
    targets[step] = target + (target >= labels[example])
    reassign(
        X, shift, norms, weights, groups, examples[here], targets[here], labels,
        members, counts, sums, squares, is_changed, sources[here],
    )  # fmt: skip
    update_products(
        X, columns_of_X, shift, weights, groups, examples[here], sources[here],
        targets[here], products, 0, n_samples,
    )  # fmt: skip
    return True


@njit
def walk_singles(
    X, columns_of_X, shift, norms, weights, groups, labels, members, counts, sums,
    squares, is_changed, products, utilities, group_sizes, shares, tolerance,
    move_costs, examples, sources, targets, people, max_distance, mass, mean_norms,
    mean_dots, costs, after,
):  # fmt: skip
    """Make the best single move, again and again, up to len(after) times.

    It ends if no move is admitted, or if a move did not raise the lowest utility.
    Returns the number of moves made, and is_raised, False in the latter case.
    OUT: all statistics of the clustering; of each step its move and the group
    utilities ``after`` it.
    """
    for step in range(after.shape[0]):
        lowest = utilities.min()
        if not make_best_single(
            X, columns_of_X, shift, norms, weights, groups, labels, members, counts,
            sums, squares, is_changed, products, utilities, group_sizes, shares,
            tolerance, move_costs, examples, sources, targets, step,
        ):  # fmt: skip
            return step, True
        summarise(
            counts, sums, squares, people, max_distance, is_changed, mass, mean_norms,
            mean_dots, costs, utilities,
        )  # fmt: skip
        fill_move_costs(
            norms, weights, groups, labels, members, counts, mass, mean_norms,
            mean_dots, products, is_changed, move_costs, 0, labels.shape[0],
        )  # fmt: skip
        for g in range(utilities.shape[0]):
            after[step, g] = utilities[g]
        if not utilities.min() > lowest:
            return step + 1, False
    return after.shape[0], True
