"""One pass over a block of rows, compiled: nearest centers, sums and moves.

Letters are those of ``cluster_sums``: row i has group g and weight w, sits in cluster c
and is read as x = X[i] - shift. X may be float32; every sum is of float64 numbers and
keeps the rounding error of each addition beside it (Knuth's two-sum), in an array of
twice the length: ``[0]`` the sum, ``[1]`` the error. So a sum has about twice the
digits of a float whatever the order, and hardly depends on how rows were cut into
blocks.

Numba's cache checks only the file of a function, so no compiled function calls one of
another file.
"""

import numpy as np

from rawlsian._support.compile import njit

# Rows compared with all centers at a time: their numbers stay in the cache.
ROWS_A_TILE = 64


@njit
def add(total, lost, value):
    """Return total + value, and the rounding error so far."""
    after = total + value
    grown = after - total
    return after, lost + ((total - (after - grown)) + (value - grown))


@njit
def transpose(X, start, n_rows, tile):
    """Write rows from start on as columns.  OUT: tile[:, :n_rows]; the rest is zero."""
    for j in range(X.shape[1]):
        for r in range(n_rows):
            tile[j, r] = X[start + r, j]
        for r in range(n_rows, ROWS_A_TILE):
            tile[j, r] = 0.0


@njit
def nearest_in_tile(tile, centers, offsets, scores, best, nearest):
    """Find the center with the lowest |x - center|^2 + offset; ties go to the lower.

    OUT: best, the lowest score; nearest, its center; scores, a buffer.
    """
    n_clusters, n_features = centers.shape
    best[:] = np.inf
    for c in range(n_clusters):
        scores[:] = offsets[c]
        for j in range(n_features):
            center, column = centers[c, j], tile[j]
            for r in range(ROWS_A_TILE):
                difference = column[r] - center
                scores[r] += difference * difference
        for r in range(ROWS_A_TILE):
            nearest[r] = c if scores[r] < best[r] else nearest[r]
            best[r] = scores[r] if scores[r] < best[r] else best[r]


@njit
def add_row(X, i, c, g, w, shift, members, counts, sums, squares):
    """Add row i to cluster c, or remove it (w < 0).

    OUT: members, counts, sums, squares.
    """
    members[c, g] += 1 if w > 0.0 else -1
    total, lost, norm = sums[0, c, g], sums[1, c, g], 0.0
    for j in range(X.shape[1]):
        value = X[i, j] - shift[j]
        norm += value * value
        total[j], lost[j] = add(total[j], lost[j], w * value)
    counts[0, c, g], counts[1, c, g] = add(counts[0, c, g], counts[1, c, g], w)
    squares[0, c, g], squares[1, c, g] = add(
        squares[0, c, g], squares[1, c, g], w * norm
    )


@njit
def weight_of(weights, i):
    """Return the weight of row i; a single weight holds for every row."""
    return weights[i] if weights.shape[0] > 1 else weights[0]


@njit
def nearest_rows(X, start, n_rows, centers, offsets, tile, scores, best, nearest):
    """Find the nearest center in each set for some rows.  OUT: best, nearest."""
    transpose(X, start, n_rows, tile)
    for s in range(centers.shape[0]):
        nearest_in_tile(tile, centers[s], offsets[s], scores, best[s], nearest[s])


@njit
def room_for(centers):
    """Return buffers: a tile, scores, best and nearest."""
    n_sets, _, n_features = centers.shape
    return (
        np.empty((n_features, ROWS_A_TILE)),
        np.empty(ROWS_A_TILE),
        np.empty((n_sets, ROWS_A_TILE)),
        np.zeros((n_sets, ROWS_A_TILE), np.int32),
    )


@njit
def assign_rows(
    X, groups, weights, centers, offsets, shift, members, counts, sums, squares, costs
):
    """Put each row in the cluster of the nearest center, and sum up.

    There is one set of centers and offsets, or one per group; an offset adds to the
    squared distance. Costs are squared distances, offsets included.
    OUT: by cluster and group members (rows with weight), counts, sums, squares; by
    group costs.
    """
    tile, scores, best, nearest = room_for(centers)
    n_sets = centers.shape[0]
    for start in range(0, X.shape[0], ROWS_A_TILE):
        n_rows = min(ROWS_A_TILE, X.shape[0] - start)
        nearest_rows(X, start, n_rows, centers, offsets, tile, scores, best, nearest)
        for r in range(n_rows):
            i = start + r
            g, w = groups[i], weight_of(weights, i)
            s = g if n_sets > 1 else 0
            if w > 0.0:
                costs[0, g], costs[1, g] = add(costs[0, g], costs[1, g], w * best[s, r])
                add_row(
                    X, i, nearest[s, r], g, w, shift, members, counts, sums, squares
                )


@njit
def label_rows(X, groups, centers, offsets, labels):
    """Label rows as assign_rows places them.  OUT: labels."""
    tile, scores, best, nearest = room_for(centers)
    n_sets = centers.shape[0]
    for start in range(0, X.shape[0], ROWS_A_TILE):
        n_rows = min(ROWS_A_TILE, X.shape[0] - start)
        nearest_rows(X, start, n_rows, centers, offsets, tile, scores, best, nearest)
        for r in range(n_rows):
            s = groups[start + r] if n_sets > 1 else 0
            labels[start + r] = nearest[s, r]


@njit
def add_rows(X, groups, weights, labels, shift, members, counts, sums, squares):
    """Sum up rows whose clusters are known.

    OUT: members (rows with weight), counts, sums, squares, by cluster and group.
    """
    for i in range(X.shape[0]):
        w = weight_of(weights, i)
        if w > 0.0:
            add_row(
                X, i, labels[i], groups[i], w, shift, members, counts, sums, squares
            )


@njit
def look_at(X, lowest, highest):
    """Return row and column of the first number that is not finite, or (-1, -1).

    OUT: lowest, highest of each column.
    """
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            value = X[i, j]
            if not np.isfinite(value):
                return i, j
            lowest[j] = min(lowest[j], value)
            highest[j] = max(highest[j], value)
    return -1, -1


@njit
def add_weights(groups, weights, members, sizes):
    """Count rows that have weight, and add it up.  OUT: members, sizes, by group."""
    for i in range(groups.shape[0]):
        g, w = groups[i], weight_of(weights, i)
        if w > 0.0:
            members[g] += 1
            sizes[0, g], sizes[1, g] = add(sizes[0, g], sizes[1, g], w)


@njit
def add_spread(X, groups, weights, labels, centers, spread):
    """Add up weights and moments of the costs of a group's members.

    OUT: spread, by cluster and group: sums of w, w d, w^2, w^2 d and w^2 d^2, where d
    is the squared distance to the center of the row's cluster.
    """
    for i in range(X.shape[0]):
        w, c, g, distance = weight_of(weights, i), labels[i], groups[i], 0.0
        if not w > 0.0:
            continue
        for j in range(X.shape[1]):
            difference = X[i, j] - centers[c, j]
            distance += difference * difference
        term = w * w
        total, lost = spread[0, c, g], spread[1, c, g]
        total[0], lost[0] = add(total[0], lost[0], w)
        total[1], lost[1] = add(total[1], lost[1], w * distance)
        for power in range(2, 5):
            total[power], lost[power] = add(total[power], lost[power], term)
            term *= distance


# --- Batches ---


@njit
def entry_costs(w, mass, count, norm, product, share):
    """Return the change of a group's cost, and of everyone's, when a row enters.

    With d = x - m, norm = |d|^2 and product = d.(S_g - n_g m); the mean moves by t d,
    t = w / (N + w). The row counts with this share in that group. Leaving is entering
    with weight -w.
    """
    t = w / (mass + w)
    change = t * (count * t * norm - 2.0 * product)
    if share > 0.0:
        change += share * (w * (1.0 - t) * (1.0 - t) * norm)
    return change, w * mass / (mass + w) * norm


@njit
def log2_bin(value, n_bins, first):
    """Return the bin of a positive number on a log2 scale, 16 bins per octave.

    The bin of 1 is ``first``; numbers beyond the ends are in the end bins.
    """
    place = int(np.floor(16.0 * np.log2(value))) + first
    return min(max(place, 0), n_bins - 1)


@njit
def best_moves(
    X, groups, weights, labels, lag, means, mass, members, counts, excess, own,
    everyone, least_gain, least_loss, most_gain, n_bins, targets, bins,
):  # fmt: skip
    """Find the move of each row with the highest exchange rate for group lag.

    The rate is the gain of lag divided by the loss of the others. Excess: S_g - n_g m.
    A row counts ``own`` in its group and ``everyone`` in every group.
    OUT: targets; bins, the bin of the rate, where a rate of 1 is in bin n_bins / 2. If
    nobody loses, the bin of the gain in the n_bins above these, where most_gain is in
    the last. -1 if no move helps lag.
    """
    n_clusters, n_features = means.shape
    tile = np.empty((n_features, ROWS_A_TILE))
    norms = np.empty((n_clusters, ROWS_A_TILE))
    products = np.empty((n_clusters, ROWS_A_TILE))
    for start in range(0, X.shape[0], ROWS_A_TILE):
        n_rows = min(ROWS_A_TILE, X.shape[0] - start)
        transpose(X, start, n_rows, tile)
        for c in range(n_clusters):
            norm, product = norms[c], products[c]
            norm[:] = 0.0
            product[:] = 0.0
            for j in range(n_features):
                mean, pull, column = means[c, j], excess[c, lag, j], tile[j]
                for r in range(ROWS_A_TILE):
                    difference = column[r] - mean
                    norm[r] += difference * difference
                    product[r] += difference * pull
        for r in range(n_rows):
            i = start + r
            a, w = labels[i], weight_of(weights, i)
            share = everyone + (own if groups[i] == lag else 0.0)
            targets[i], bins[i] = a, -1
            if not w > 0.0 or members[a] < 2:
                continue
            leave, leave_all = entry_costs(
                -w, mass[a], counts[a, lag], norms[a, r], products[a, r], share
            )
            best_rate = best_gain = 0.0
            for c in range(n_clusters):
                if c == a:
                    continue
                enter, enter_all = entry_costs(
                    w, mass[c], counts[c, lag], norms[c, r], products[c, r], share
                )
                gain = -(enter + leave)
                if not gain > least_gain:
                    continue
                loss = enter_all + leave_all + gain
                rate = gain / loss if loss > least_loss else np.inf
                if rate > best_rate or (rate == best_rate and gain > best_gain):
                    best_rate, best_gain, targets[i] = rate, gain, c
            if best_rate == np.inf:
                share = best_gain / most_gain
                bins[i] = n_bins + log2_bin(share, n_bins, n_bins - 1)
            elif best_rate > 0.0:
                bins[i] = log2_bin(best_rate, n_bins, n_bins // 2)


@njit
def add_promises(
    X, groups, weights, labels, targets, bins, means, mass, counts, excess, own,
    everyone, n_moves, promised,
):  # fmt: skip
    """Add up the costs of moves for each group, by the bin of their rate.

    OUT: n_moves; promised, the sums of their costs.
    """
    for i in range(X.shape[0]):
        b, w = bins[i], weight_of(weights, i)
        if b < 0:
            continue
        n_moves[b] += 1
        for g in range(counts.shape[1]):
            change, share = 0.0, everyone + (own if groups[i] == g else 0.0)
            for c, weight in ((labels[i], -w), (targets[i], w)):
                norm = product = 0.0
                for j in range(X.shape[1]):
                    difference = X[i, j] - means[c, j]
                    norm += difference * difference
                    product += difference * excess[c, g, j]
                change += entry_costs(
                    weight, mass[c], counts[c, g], norm, product, share
                )[0]
            promised[0, b, g], promised[1, b, g] = add(
                promised[0, b, g], promised[1, b, g], change
            )


@njit
def add_moves(
    X, groups, weights, labels, targets, tiers, shift, members, counts, sums, squares
):
    """Add up the changes of the sums by moves, by tier; a row of tier -1 stays.

    OUT: members, counts, sums, squares, each with the tier first.
    """
    for i in range(X.shape[0]):
        t, g, w = tiers[i], groups[i], weight_of(weights, i)
        if t < 0:
            continue
        add_row(
            X, i, labels[i], g, -w, shift, members[t], counts[t], sums[t], squares[t]
        )
        add_row(
            X, i, targets[i], g, w, shift, members[t], counts[t], sums[t], squares[t]
        )
