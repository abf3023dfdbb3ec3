"""What moves cost and which of them are best, compiled.

Arrays and scalars in; each function says which arguments it writes. Letters are those
of ``cluster_sums``, from which all of this follows: row i, group g, cluster c,
weight w, x = X[i] - shift, counts n, sums S, squares Q, mass N and mean m.

Reductions run in one fixed order and nothing is reordered (no fastmath), so results
do not depend on how rows are shared out among threads; and equal rows get equal bits,
so that ties between them are decided by index.

Numba's cache looks at the file of a function only: compiled code that had inlined a
kernel of another file would stay stale when that one changed. So no compiled function
calls one of another file, here or anywhere. That
makes this file longer than 500 lines.
"""

import numpy as np

from rawlsian._support.compile import njit

# Rows at a time where a kernel needs room for each row: it stays in the cache.
ROWS_A_TILE = 4096


# --- Rows ---


@njit
def nonzero_entries(X, shift, i, columns, values):
    """Write the non-zero entries of X[i] - shift and return how many there are.

    Zeros are skipped everywhere in this module: one-hot rows are mostly zeros.
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
    """(X[i] - shift) . v, where v is given by its non-zero entries."""
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
    # One row a feature, so that the innermost loop runs over neighbours in memory.
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
    """(X[i] - shift) . v for a tile of rows, v given by its non-zero entries.

    ``columns_of_X`` is the transpose of X - shift or empty; with it the work
    vectorises, in the same order and so to the same bits.  OUT: out[: stop - start].
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
def update_products(
    X, columns_of_X, shift, weights, groups, examples, sources, targets, products,
    start, stop,
):  # fmt: skip
    """P[source, g] -= w X x and P[target, g] += w X x for each moved row x.

    OUT: products[:, :, start:stop].
    """
    columns, values = np.empty(X.shape[1], np.int64), np.empty(X.shape[1])
    out = np.empty(min(ROWS_A_TILE, stop - start))
    for move in range(examples.shape[0]):
        x = examples[move]
        w, g, source, target = weights[x], groups[x], sources[move], targets[move]
        n_nonzero = nonzero_entries(X, shift, x, columns, values)
        for first in range(start, stop, ROWS_A_TILE):
            last = min(first + ROWS_A_TILE, stop)
            products_with_row(
                X, columns_of_X, shift, columns, values, n_nonzero, first, last, out
            )
            losing, gaining = products[source, g, first:], products[target, g, first:]
            for i in range(last - first):
                losing[i] -= w * out[i]
                gaining[i] += w * out[i]


# --- What one row's entering or leaving a cluster costs each group ---


@njit
def fill_cluster_move_costs(
    c, norms, weights, groups, labels, members, counts, mass, mean_norms, mean_dots,
    products, move_costs, start, stop,
):  # fmt: skip
    """Change in the cost of group g in cluster c when row i enters it, or leaves it.

    Let r = |x - m|^2, p = (x - m).m and t = w / (N + w): the mean moves by t (x - m).
    Group g's cost changes by n[g] t^2 r - 2 t (x - m).(S[g] - n[g] m), and the row's
    own group pays w (1 - t)^2 r besides, which is N t (1 - t) r. The sum over groups,
    kept as the last row of move_costs[c], is N t r. Leaving is entering with weight -w;
    leaving a cluster of one costs infinity: k clusters stay k clusters.
    Short loops over few slices, so that they vectorise.
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
            total[i] += product[i]  # x.S, for now
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
# A search runs through moves in order. A move can be admitted only if the cost of the
# least advantaged group falls. With keep_all every admitted move is found; otherwise
# only contenders, those that may still be the best in the order of best_proposal:
# a limit on the change in total cost, lowered as they are found, rules out nearly all
# others. What it rules out is worse by more than rounding, so that where a search is
# cut into chunks does not matter.


@njit
def judge(proposed, j, utilities, tolerance):
    """Whether proposal j is admitted, and whether it harms no group."""
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
    """Limit on the change in total cost, now that one with this change was found.

    What is harmless costs at most the slack in total. So one that is not harmless
    rules out what costs more than it and cannot be harmless, and one that is
    harmless all that costs more than it.
    """
    if keep_all:
        return limit
    if not is_harmless:
        change = max(change, slack)
    return min(limit, change + slack)


@njit
def doubled(array):
    """The array with twice the room."""
    return np.concatenate((array, np.empty_like(array)))


@njit
def best_in_rows(labels, move_costs, lag, start, stop):
    """Lowest change in total cost among a row's moves that help group lag.

    Infinite where there is none. Tells which rows single_moves must look at.
    """
    n_clusters, total = move_costs.shape[0], move_costs.shape[1] - 1
    n_rows = stop - start
    leave, leave_lag = np.empty(n_rows), np.empty(n_rows)
    for i in range(n_rows):
        leave[i] = move_costs[labels[start + i], total, start + i]
        leave_lag[i] = move_costs[labels[start + i], lag, start + i]
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
    """Search the moves of one row, for the rows start to stop - 1.

    Move i (k - 1) + t takes row i to the t-th of the other clusters. Returns the
    numbers of the moves found and the group utilities that they lead to.
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
    """Let row x enter cluster c with weight w (leave it with -w).

    ``dots`` has the products of x with the rows from first on, the only ones updated.
    A cluster that x leaves empty costs nothing to enter. All rows have weight.
    OUT: all of cluster c in members, counts, ..., move_costs.
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
    """Copy cluster c back, for the rows from first on.

    OUT: cluster c in members, counts, ..., move_costs.
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
def pair_moves(
    X, shift, examples, norms, weights, groups, labels, members, counts, mass,
    mean_norms, mean_dots, products, move_costs, utilities, group_sizes, tolerance,
    rows, targets, start, stop,
):  # fmt: skip
    """Search the pairs a < b of the given single moves, for a in start to stop - 1.

    Move a takes row ``rows[a]`` to ``targets[a]``; moves are sorted by row, and row y
    is ``examples[y]`` of X, with weight. Move a is made on a scratch copy of the
    statistics; a second move then costs what a single one does, and only two
    clusters differ.
    Returns the pairs found as numbers a n_moves + b, and their group utilities.
    """
    n_moves, n_rows, n_groups = rows.shape[0], norms.shape[0], utilities.shape[0]
    lag = utilities.argmin()
    found, out, n_found = np.empty(64, np.int64), np.empty((64, n_groups)), 0
    columns, values = np.empty(X.shape[1], np.int64), np.empty(X.shape[1])
    dots, both = np.empty(n_rows), np.empty(n_groups)
    original = (members, counts, mass, mean_norms, mean_dots, products, move_costs)
    scratch = (
        members.copy(), counts.copy(), mass.copy(), mean_norms.copy(),
        mean_dots.copy(), products.copy(), move_costs.copy(),
    )  # fmt: skip
    # Places in the scratch copy of move_costs of what a move's two clusters cost.
    after, stride = scratch[6].ravel(), n_rows * (n_groups + 1)
    least = np.uint64(lag * n_rows)
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
        for g in range(n_groups):
            both[g] = move_costs[B, g, x] + (0.0 if is_emptied else move_costs[A, g, x])
        for b in range(second, n_moves):
            if is_emptied and targets[b] != A:
                continue
            if both[lag] + after[leave[b] + least] + after[enter[b] + least] >= 0.0:
                continue
            for g in range(n_groups):
                plane = np.uint64(g * n_rows)
                loss = both[g] + after[leave[b] + plane] + after[enter[b] + plane]
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
    """What each move costs in total, and what a pair may save beside the other move.

    Rows with signed weights w_i (negative: they leave), at e_i from the mean of a
    cluster of mass N, change its cost by sum w_i |e_i|^2 - |sum w_i e_i|^2 /
    (N + sum w_i). So what two of them cost alone, added up, is too high by at most
    (|w_x e_x| + |w_y e_y|)^2 / (N - w_x - w_y) for each cluster that they share.
    OUT: costs, saved.
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
    mean_dots, products, move_costs, utilities, group_sizes, tolerance, examples,
    targets, costs, saved, order, limit, places,
):  # fmt: skip
    """Search the pairs that may cost less than limit in total.

    ``order`` has the moves by what they cost alone. The first of a pair, which is made
    on a scratch copy of the statistics, is the cheaper one and at one of these places
    of it; so few come into question, and few dear ones beside each. (Costs of infinity
    come with savings of infinity, and make comparisons here false.)
    Returns the pairs found as numbers a n_moves + b with a < b, and their group
    utilities, in no particular order.
    """
    n_moves, n_samples, n_groups = order.shape[0], norms.shape[0], utilities.shape[0]
    slack = tolerance * group_sizes.sum()
    found, out, n_found = np.empty(64, np.int64), np.empty((64, n_groups)), 0
    columns, values = np.empty(X.shape[1], np.int64), np.empty(X.shape[1])
    dots, loss = np.empty(n_samples), np.empty(n_groups + 1)
    original = (members, counts, mass, mean_norms, mean_dots, products, move_costs)
    scratch = (
        members.copy(), counts.copy(), mass.copy(), mean_norms.copy(),
        mean_dots.copy(), products.copy(), move_costs.copy(),
    )  # fmt: skip
    after = scratch[6]
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
        for later in range(place + 1, n_moves):
            b = order[later]
            if costs[a] + costs[b] - saved[a] >= limit:
                break
            y, D = examples[b], targets[b]
            if y == x or (is_emptied and D != A):
                continue
            for g in range(n_groups + 1):
                leave = 0.0 if is_emptied else move_costs[A, g, x]
                loss[g] = move_costs[B, g, x] + leave
                loss[g] += after[labels[y], g, y] + after[D, g, y]
            if loss[n_groups] >= limit:
                continue
            for g in range(n_groups):
                out[n_found, g] = utilities[g] - loss[g] / group_sizes[g]
            is_admitted, is_harmless = judge(out, n_found, utilities, tolerance)
            if not is_admitted:
                continue
            limit = next_limit(limit, slack, False, loss[n_groups], is_harmless)
            found[n_found] = min(a, b) * n_moves + max(a, b)
            n_found += 1
            if n_found == found.shape[0]:
                found, out = doubled(found), doubled(out)
        for c in (A, B):
            restore_cluster(c, 0, *original, *scratch)
    return found[:n_found], out[:n_found]


@njit
def overall_utilities(utilities, shares):
    """Sum over groups of share times utility, summed as in best_proposal."""
    overall = np.zeros(utilities.shape[0])
    for j in range(utilities.shape[0]):
        for g in range(utilities.shape[1]):
            overall[j] += shares[g] * utilities[j, g]
    return overall


@njit
def best_proposal(proposed, utilities, shares, tolerance):
    """Index of the best proposal in the paper's order of preference, or -1.

    Admitted: the lowest utility rises. Preferred: no group falls. Then: highest
    overall utility; then lowest index.
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
        # What harms nobody cannot lower the overall utility, so most proposals are
        # out of the running here already.
        if overall <= best_overall and (best_harmless or overall < now - 2 * tolerance):
            continue
        is_admitted, is_harmless = judge(proposed, j, utilities, tolerance)
        if not is_admitted or (best_harmless and not is_harmless):
            continue
        if overall > best_overall or (is_harmless and not best_harmless):
            best, best_harmless, best_overall = j, is_harmless, overall
    return best, best_harmless, best_overall
