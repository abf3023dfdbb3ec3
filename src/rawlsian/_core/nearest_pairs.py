"""Searches for pairs of moves if each row is served by its nearest mean; compiled.

Letters, plain costs and margins are those of ``nearest_kernels``. Where pairs are
evaluated, arrays have the row first, as a pair reads all of two rows. Numba's cache
checks only the file of a function, so no compiled function calls one of another file.
"""

import numpy as np

from rawlsian._support.compile import inlined, njit

# The scan and the evaluation of pairs add up in different orders. This multiple of the
# tolerance is a generous margin for that, as in ``operators.r1_r2``.
ROUNDING = 1000

# --- One pair ---


@njit
def product_of_rows(X, shift, i, y):
    """Return (X[i] - shift) . (X[y] - shift)."""
    total = 0.0
    for j in range(X.shape[1]):
        total += (X[i, j] - shift[j]) * (X[y, j] - shift[j])
    return total


@inlined
def row_product(X, shift, slots, products, i, y):
    """Return the product of rows i and y, from the table if y has a place in it."""
    slot = slots[y]
    return products[slot, i] if slot >= 0 else product_of_rows(X, shift, i, y)


@inlined
def shift_together(
    c, x, y, w_x, w_y, xy, place, mass, mean_norms, mean_products, squared, counts,
    mean_dots, cell_products, clusters, t_x, t_y, reach, loss,
):  # fmt: skip
    """Add cluster c, which rows x and y leave or enter with weights w_x and w_y.

    Its mean moves by D = t_x (x - m) + t_y (y - m).
    OUT: clusters, t_x, t_y, reach at ``place``; loss, to which plain costs are added.
    """
    n_groups, mean_norm = counts.shape[1], mean_norms[c]
    new = mass[c] + w_x + w_y
    a, b = w_x / new, w_y / new
    p_x = mean_products[x, c] - mean_norm
    p_y = mean_products[y, c] - mean_norm
    between = xy - (p_x + p_y) - mean_norm
    length = a * a * squared[x, c] + b * b * squared[y, c] + 2 * a * b * between
    length = max(length, 0.0)
    clusters[place], t_x[place], t_y[place] = c, a, b
    reach[place] = np.sqrt(length)
    for g in range(n_groups):
        n, dots = counts[c, g], mean_dots[c, g]
        q_x = cell_products[x, c, g] - dots - n * p_x
        q_y = cell_products[y, c, g] - dots - n * p_y
        change = n * length - 2 * (a * q_x + b * q_y)
        loss[g] += change
        loss[n_groups] += change


@inlined
def plain_pair(
    x, A, B, y, C, D, xy, weights, mass, mean_norms, mean_products, squared, counts,
    mean_dots, cell_products, plain, shifts, clusters, t_x, t_y, reach, loss,
):  # fmt: skip
    """Compute the plain costs of moving x from A to B and y from C to D.

    Returns the number of clusters that change, two to four.
    OUT: clusters, the factors t_x and t_y, and shifts ``reach`` of their means; loss.
    """
    n_columns = loss.shape[0]
    loss[:] = 0.0
    n_changed = 0
    for is_entered in range(2):
        c = B if is_entered else A
        w_x = weights[x] if is_entered else -weights[x]
        if c in (C, D):
            w_y = -weights[y] if c == C else weights[y]
            shift_together(
                c, x, y, w_x, w_y, xy, n_changed, mass, mean_norms, mean_products,
                squared, counts, mean_dots, cell_products, clusters, t_x, t_y, reach,
                loss,
            )  # fmt: skip
        else:
            clusters[n_changed], reach[n_changed] = c, shifts[x, c]
            t_x[n_changed], t_y[n_changed] = w_x / (mass[c] + w_x), 0.0
            for g in range(n_columns):
                loss[g] += plain[x, c, g]
        n_changed += 1
    for is_entered in range(2):
        c = D if is_entered else C
        if c in (A, B):
            continue
        w_y = weights[y] if is_entered else -weights[y]
        clusters[n_changed], reach[n_changed] = c, shifts[y, c]
        t_x[n_changed], t_y[n_changed] = 0.0, w_y / (mass[c] + w_y)
        for g in range(n_columns):
            loss[g] += plain[y, c, g]
        n_changed += 1
    return n_changed


@inlined
def save_in_pair(
    x, y, n_changed, clusters, t_x, t_y, reach, place_of, X, shift, weights, groups,
    mean_norms, mean_products, squared, cells, starts, rows, margins, slots, products,
    slack, seen, serial, loss,
):  # fmt: skip
    """Subtract from the loss of a pair what rows save by changing their cells.

    ``seen`` marks rows that were visited for the pair with this serial number, and
    place_of[c] is the place of c among the clusters that change, else -1.
    OUT: loss, seen; place_of, which is left as it was.
    """
    n_clusters = squared.shape[1]
    furthest = 0.0
    for here in range(n_changed):
        place_of[clusters[here]] = here
        furthest = max(furthest, reach[here])
    for here in range(n_changed):
        c = clusters[here]
        for place in range(starts[c], starts[c + 1]):
            if margins[place] > reach[here] + furthest + slack:
                break
            z = rows[place]
            cell = cells[z]
            own = place_of[cell]
            other = furthest if cell == c else (reach[own] if own >= 0 else 0.0)
            if seen[z] == serial or margins[place] > reach[here] + other + slack:
                continue
            seen[z] = serial
            xz = row_product(X, shift, slots, products, x, z)
            yz = row_product(X, shift, slots, products, y, z)
            now, best = squared[z, cell], np.inf
            for k in range(n_clusters):
                distance, at = squared[z, k], place_of[k]
                if at >= 0:
                    z_k = mean_norms[k] - mean_products[z, k]
                    dot = t_x[at] * (xz + z_k - mean_products[x, k])
                    dot += t_y[at] * (yz + z_k - mean_products[y, k])
                    distance += reach[at] * reach[at] - 2 * dot
                if k == cell:
                    now = distance
                best = min(best, distance)
            if best < now:
                loss[groups[z]] -= weights[z] * (now - best)
                loss[-1] -= weights[z] * (now - best)
    for here in range(n_changed):
        place_of[clusters[here]] = -1


@inlined
def pair_loss(
    x, A, B, y, C, D, xy, serial, X, shift, weights, groups, mass, mean_norms,
    mean_products, squared, counts, mean_dots, cell_products, plain, shifts, cells,
    starts, rows, margins, slots, products, slack, clusters, factors, place_of, seen,
    loss,
):  # fmt: skip
    """Compute each group's cost of moving x from A to B and y from C to D.

    Of pairs that only swap equal rows, sums have the same order and so the same bits.
    ``factors`` has room for three numbers of each of up to four clusters.
    OUT: loss; the others are for use from pair to pair.
    """
    if C < A or (C == A and D < B):
        x, A, B, y, C, D = y, C, D, x, A, B
    t_x, t_y, reach = factors[0], factors[1], factors[2]
    n_changed = plain_pair(
        x, A, B, y, C, D, xy, weights, mass, mean_norms, mean_products, squared, counts,
        mean_dots, cell_products, plain, shifts, clusters, t_x, t_y, reach, loss,
    )  # fmt: skip
    save_in_pair(
        x, y, n_changed, clusters, t_x, t_y, reach, place_of, X, shift, weights, groups,
        mean_norms, mean_products, squared, cells, starts, rows, margins, slots,
        products, slack, seen, serial, loss,
    )  # fmt: skip


# --- Searches ---


@inlined
def is_possible(members, A, B, C, D):
    """Return True if moves from A to B and from C to D leave no cluster empty."""
    if A == C:
        return members[A] > 2
    return (members[A] > 1 or D == A) and (members[C] > 1 or B == C)


@inlined
def is_admitted(proposed, j, utilities, tolerance):
    """Return True if the lowest utility rises."""
    least = utilities.min() + tolerance
    is_higher = True
    for g in range(utilities.shape[0]):
        is_higher &= proposed[j, g] > least
    return is_higher


@inlined
def pool_losses(own, everyone, loss):
    """Pool the losses of groups; the loss of all groups comes last.  OUT: loss."""
    if everyone > 0.0:
        for g in range(loss.shape[0] - 1):
            loss[g] = own * loss[g] + everyone * loss[-1]


@njit
def pair_moves(
    X, shift, weights, groups, labels, members, mass, mean_norms, mean_products,
    squared, counts, mean_dots, cell_products, plain, shifts, cells, starts, rows,
    margins, slots, products, slack, own, everyone, utilities, group_sizes,
    tolerance, examples, targets, start, stop,
):  # fmt: skip
    """Search the pairs a < b of the given single moves, for a in start to stop - 1.

    Move a takes row ``examples[a]`` to ``targets[a]``. Moves are sorted by row.
    Returns the pairs found as numbers a n_moves + b, and the utilities after each.
    """
    n_moves, n_groups = examples.shape[0], utilities.shape[0]
    found, out, n_found = np.empty(64, np.int64), np.empty((64, n_groups)), 0
    clusters, factors = np.empty(4, np.int64), np.empty((3, 4))
    place_of, seen = np.full(mass.shape[0], -1), np.full(weights.shape[0], -1)
    loss, dots, x = np.empty(n_groups + 1), np.empty(n_moves), -1
    for a in range(start, stop):
        if examples[a] != x:
            x = examples[a]
            for b in range(a + 1, n_moves):
                y = examples[b]
                is_again = b > a + 1 and y == examples[b - 1]
                dots[b] = dots[b - 1] if is_again else product_of_rows(X, shift, x, y)
        A, B = np.int64(labels[x]), targets[a]
        for b in range(a + 1, n_moves):
            y, D = examples[b], targets[b]
            C = np.int64(labels[y])
            if y == x or not is_possible(members, A, B, C, D):
                continue
            pair_loss(
                x, A, B, y, C, D, dots[b], a * n_moves + b, X, shift, weights, groups,
                mass, mean_norms, mean_products, squared, counts, mean_dots,
                cell_products, plain, shifts, cells, starts, rows, margins, slots,
                products, slack, clusters, factors, place_of, seen, loss,
            )  # fmt: skip
            pool_losses(own, everyone, loss)
            for g in range(n_groups):
                out[n_found, g] = utilities[g] - loss[g] / group_sizes[g]
            if not is_admitted(out, n_found, utilities, tolerance):
                continue
            found[n_found] = a * n_moves + b
            n_found += 1
            if n_found == found.shape[0]:
                found = np.concatenate((found, np.empty_like(found)))
                out = np.concatenate((out, np.empty_like(out)))
    return found[:n_found], out[:n_found]


@njit
def listed_pairs(
    X, shift, weights, groups, labels, members, mass, mean_norms, mean_products,
    squared, counts, mean_dots, cell_products, plain, shifts, cells, starts, rows,
    margins, slots, products, slack, own, everyone, utilities, group_sizes,
    tolerance, examples, targets, pairs, limit,
):  # fmt: skip
    """Evaluate these pairs, numbers a n_moves + b, that may cost less than limit.

    Returns the pairs that raise the lowest utility and may be the best, the utilities
    after each, and the limit that they leave.
    """
    n_moves, n_groups = examples.shape[0], utilities.shape[0]
    out, n_found = np.empty((pairs.shape[0], n_groups)), 0
    clusters, factors = np.empty(4, np.int64), np.empty((3, 4))
    place_of, seen = np.full(mass.shape[0], -1), np.full(weights.shape[0], -1)
    found, loss = np.empty_like(pairs), np.empty(n_groups + 1)
    least = ROUNDING * tolerance * group_sizes.sum()
    for pair in pairs:
        a, b = pair // n_moves, pair % n_moves
        x, y = examples[a], examples[b]
        pair_loss(
            x, np.int64(labels[x]), targets[a], y, np.int64(labels[y]), targets[b],
            product_of_rows(X, shift, x, y), pair, X, shift, weights, groups, mass,
            mean_norms, mean_products, squared, counts, mean_dots, cell_products,
            plain, shifts, cells, starts, rows, margins, slots, products, slack,
            clusters, factors, place_of, seen, loss,
        )  # fmt: skip
        pool_losses(own, everyone, loss)
        is_harmless = True
        for g in range(n_groups):
            out[n_found, g] = utilities[g] - loss[g] / group_sizes[g]
            is_harmless &= out[n_found, g] >= utilities[g] - tolerance
        if loss[n_groups] >= limit or not is_admitted(
            out, n_found, utilities, tolerance
        ):
            continue
        # As next_limit of move_kernels: a pair that harms no group costs at most
        # ``least``, so one that harms a group rules out only what costs more.
        change = loss[n_groups] if is_harmless else max(loss[n_groups], least)
        limit = min(limit, change + least)
        found[n_found] = pair
        n_found += 1
    return found[:n_found], out[:n_found], limit


# --- All pairs: rule out by plain costs, evaluate the rest ---


@njit
def difference_together(mass, largest, squared, starts, rows, heaviest):
    """Bound how much two moves together change distances otherwise than one by one.

    If both moves shift the mean of one cluster, it moves by D_x + D_y + e, with |e| at
    most w (|D_x| + |D_y|) / (N - 2 w). The squared distance of a listed row then
    changes by at most 2 |e| r + 2 |D_x| |D_y| + 2 |e| (|D_x| + |D_y|) + |e|^2 more or
    less. Returns the sum of the two largest such bounds, as two means may move, and
    has_room: True for clusters with N > 2 w, for which the bound holds, and at the
    end for none.
    """
    n_clusters = mass.shape[0]
    most, next_most, has_room = 0.0, 0.0, np.ones(n_clusters + 1, np.bool_)
    for c in range(n_clusters):
        has_room[c] = mass[c] > 2 * heaviest
        if has_room[c]:
            D, r = largest[c], 0.0
            for place in range(starts[c], starts[c + 1]):
                r = max(r, np.sqrt(squared[c, rows[place]]))
            e = 2 * heaviest * D / (mass[c] - 2 * heaviest)
            bound = 2 * e * r + 2 * D * D + 4 * e * D + e * e
            next_most = max(next_most, min(most, bound))
            most = max(most, bound)
    return most + next_most, has_room


@njit
def sort_by_label(
    order, weights, labels, mass, mean_norms, mean_products, squared, counts, mean_dots,
    cell_products, plain, halved, lag, own, everyone,
):  # fmt: skip
    """Return what ``promising_pairs`` reads of rows, in the order of their labels.

    Of two columns, the first is for all groups, the second for the group ``lag``,
    pooled: a row counts ``own`` in its group and ``everyone`` in every group.
    Returns ends, where the rows of each label end; weights w; r = |x - m|^2 and
    p = (x - m).m for each cluster; q = (x - m).(S - n m) for its cell; the plain costs
    of entering or leaving it; and those of moving to it, less what rows then save at
    most.
    """
    n_clusters, n_columns, _ = plain.shape
    n_groups, n_rows = n_columns - 1, order.shape[0]
    ends = np.zeros(n_clusters + 1, np.int64)
    w = weights[order]
    r, p = np.empty((n_clusters, n_rows)), np.empty((n_clusters, n_rows))
    q, single = np.zeros((2, n_clusters, n_rows)), np.empty((2, n_clusters, n_rows))
    moved = np.empty_like(single)
    for s in range(n_rows):
        ends[labels[order[s]] + 1] = s + 1
    for c in range(n_clusters):
        ends[c + 1] = max(ends[c + 1], ends[c])
        for s in range(n_rows):
            i = order[s]
            A = labels[i]
            r[c, s] = squared[c, i]
            p[c, s] = mean_products[c, i] - mean_norms[c]
            for g in range(n_groups):
                excess = cell_products[c, g, i] - mean_dots[c, g]
                excess -= counts[c, g] * p[c, s]
                q[0, c, s] += excess
                if g == lag:
                    q[1, c, s] = excess
            for column in range(2):
                g = n_groups if column == 0 else lag
                single[column, c, s] = plain[c, g, i]
                moved[column, c, s] = plain[A, g, i] + plain[c, g, i]
                moved[column, c, s] += halved[A, g, i] + halved[c, g, i]
    if everyone > 0.0:
        for each in (q, single, moved):
            each[1] = own * each[1] + everyone * each[0]
    return ends, w, r, p, q, single, moved


@njit
def fill_shared(
    s, w_x, sign, c, n, mass, mean_norm, dots, w, r, p, q, single, out, first, last
):
    """Fill what moving x and y together through cluster c costs above both plain costs.

    x is row s and has the signed weight w_x, each y has sign * w.  OUT: out.
    """
    p_x, q_x, r_x, single_x = p[c, s] + mean_norm, q[c, s], r[c, s], single[c, s]
    dots, w, r, p = dots[first:last], w[first:last], r[c, first:last], p[c, first:last]
    q, single = q[c, first:last], single[c, first:last]
    for y in range(last - first):
        inverse = 1.0 / (mass + w_x + sign * w[y])
        a, b = w_x * inverse, sign * w[y] * inverse
        length = a * a * r_x + b * (b * r[y] + 2 * a * (dots[y] - p_x - p[y]))
        out[y] = n * length - 2 * (a * q_x + b * q[y]) - single_x - single[y]


@njit
def fill_scores(
    x_total, x_lag, y_total, y_lag, one_total, one_lag, two_total, two_lag, limit,
    scores,
):  # fmt: skip
    """Fill scores and return how many are negative: pairs that are to be evaluated.

    A score is the larger of the total cost less the limit, and of the cost of the
    worst-off group. Costs are those of moving x, of moving each y, and of up to two
    clusters that both pass through.  OUT: scores.
    """
    n_negative = 0
    for y in range(scores.shape[0]):
        scores[y] = x_total + y_total[y] + one_total[y] + two_total[y] - limit
    for y in range(scores.shape[0]):
        of_lag = x_lag + y_lag[y] + one_lag[y] + two_lag[y]
        scores[y] = of_lag if of_lag > scores[y] else scores[y]
        n_negative += scores[y] < 0.0
    return n_negative


@njit
def promising_pairs(
    members, mass, mean_norms, counts, lag, own, everyone, order, ends, w, r, p, q,
    single, moved, has_room, numbers, limit, first_dots, start,
):  # fmt: skip
    """List the pairs that may cost less than limit and help group ``lag``.

    The first row of a pair is at ``start`` in ``order`` or up to len(first_dots) places
    after; first_dots has its products with all rows. Its moves are compared with those
    of all later rows of one label at a time, by their plain costs, less what rows save
    at most. numbers[i, c] is the number of the move of row i to c.
    Returns the numbers a n_moves + b of the pairs, with a < b.
    """
    n_clusters, n_rows = mass.shape[0], order.shape[0]
    n_moves, found, n_found = n_rows * (n_clusters - 1), np.empty(64, np.int64), 0
    dots, scores = np.empty(n_rows), np.empty(n_rows)
    shared = np.zeros((2, n_clusters + 1, n_rows))  # the last plane is for none
    for s in range(start, start + first_dots.shape[0]):
        x = order[s]
        A = np.searchsorted(ends, s, side="right") - 1
        for j in range(s + 1, n_rows):
            dots[j] = first_dots[s - start, order[j]]
        for C in range(A, n_clusters):
            first, last = max(ends[C], s + 1), ends[C + 1]
            length = last - first
            if length <= 0:
                continue
            for c in range(n_clusters):
                w_x, sign = -w[s] if c == A else w[s], -1.0 if c == C else 1.0
                for column in range(2):
                    n = counts[c].sum()
                    if column == 1:
                        n = own * counts[c, lag] + everyone * n
                    fill_shared(
                        s, w_x, sign, c, n, mass[c], mean_norms[c], dots, w, r, p,
                        q[column], single[column], shared[column, c], first, last,
                    )  # fmt: skip
            for move in range(n_clusters * n_clusters):
                B, D = move // n_clusters, move % n_clusters
                if B == A or D == C or not is_possible(members, A, B, C, D):
                    continue
                # Clusters that both rows pass through.
                one = A if A in (C, D) else n_clusters
                two = B if B in (C, D) else n_clusters
                n_negative = fill_scores(
                    moved[0, B, s], moved[1, B, s], moved[0, D, first:last],
                    moved[1, D, first:last], shared[0, one, :length],
                    shared[1, one, :length], shared[0, two, :length],
                    shared[1, two, :length], limit, scores[:length],
                )  # fmt: skip
                if not has_room[one] or not has_room[two]:
                    scores[:length], n_negative = -1.0, length
                if n_negative == 0:
                    continue
                while n_found + n_negative > found.shape[0]:
                    found = np.concatenate((found, np.empty_like(found)))
                for j in range(length):
                    if scores[j] < 0.0:
                        a, b = numbers[x, B], numbers[order[first + j], D]
                        found[n_found] = min(a, b) * n_moves + max(a, b)
                        n_found += 1
    return found[:n_found]
