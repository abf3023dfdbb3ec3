"""Searches for pairs of moves if each row is served by its nearest mean; compiled.

Letters, plain costs and margins are those of ``nearest_kernels``. Numba's cache checks
only the file of a function, so no compiled function calls one of another file.
"""

import numpy as np

from rawlsian._support.compile import njit

# --- One pair ---


@njit
def product_of_rows(X, shift, i, y):
    """Return (X[i] - shift) . (X[y] - shift)."""
    total = 0.0
    for j in range(X.shape[1]):
        total += (X[i, j] - shift[j]) * (X[y, j] - shift[j])
    return total


@njit
def row_product(X, shift, slots, products, i, y):
    """Return the product of rows i and y, from the table if y has a place in it."""
    slot = slots[y]
    return products[slot, i] if slot >= 0 else product_of_rows(X, shift, i, y)


@njit
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
    p_x = mean_products[c, 0, x] / mass[c] - mean_norm
    p_y = mean_products[c, 0, y] / mass[c] - mean_norm
    between = xy - p_x - p_y - mean_norm
    length = a * a * squared[c, x] + b * b * squared[c, y] + 2 * a * b * between
    length = max(length, 0.0)
    clusters[place], t_x[place], t_y[place] = c, a, b
    reach[place] = np.sqrt(length)
    for g in range(n_groups):
        n, dots = counts[c, g], mean_dots[c, g]
        q_x = cell_products[c, g, x] - dots - n * p_x
        q_y = cell_products[c, g, y] - dots - n * p_y
        change = n * length - 2 * (a * q_x + b * q_y)
        loss[g] += change
        loss[n_groups] += change


@njit
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
            clusters[n_changed], reach[n_changed] = c, shifts[c, x]
            t_x[n_changed], t_y[n_changed] = w_x / (mass[c] + w_x), 0.0
            for g in range(n_columns):
                loss[g] += plain[c, g, x]
        n_changed += 1
    for is_entered in range(2):
        c = D if is_entered else C
        if c in (A, B):
            continue
        w_y = weights[y] if is_entered else -weights[y]
        clusters[n_changed], reach[n_changed] = c, shifts[c, y]
        t_x[n_changed], t_y[n_changed] = 0.0, w_y / (mass[c] + w_y)
        for g in range(n_columns):
            loss[g] += plain[c, g, y]
        n_changed += 1
    return n_changed


@njit
def save_in_pair(
    x, y, n_changed, clusters, t_x, t_y, reach, X, shift, weights, groups, mass,
    mean_norms, mean_products, squared, cells, starts, rows, margins, slots, products,
    slack, seen, serial, loss,
):  # fmt: skip
    """Subtract from the loss of a pair what rows save by changing their cells.

    ``seen`` marks rows that were visited for the pair with this serial number.
    OUT: loss, seen.
    """
    n_clusters = mass.shape[0]
    for here in range(n_changed):
        c, other = clusters[here], 0.0
        for also in range(n_changed):
            if also != here:
                other = max(other, reach[also])
        limit = reach[here] + other + slack
        for place in range(starts[c], starts[c + 1]):
            if margins[place] > limit:
                break
            z = rows[place]
            if seen[z] == serial:
                continue
            seen[z] = serial
            xz = row_product(X, shift, slots, products, x, z)
            yz = row_product(X, shift, slots, products, y, z)
            cell = cells[z]
            own, best = squared[cell, z], np.inf
            for k in range(n_clusters):
                distance = squared[k, z]
                for at in range(n_changed):
                    if clusters[at] == k:
                        z_k = mean_norms[k] - mean_products[k, 0, z] / mass[k]
                        dot_x = xz + z_k - mean_products[k, 0, x] / mass[k]
                        dot_y = yz + z_k - mean_products[k, 0, y] / mass[k]
                        distance -= 2 * (t_x[at] * dot_x + t_y[at] * dot_y)
                        distance += reach[at] * reach[at]
                if k == cell:
                    own = distance
                best = min(best, distance)
            if best < own:
                loss[groups[z]] -= weights[z] * (own - best)
                loss[-1] -= weights[z] * (own - best)


# --- Searches ---


@njit
def is_possible(members, A, B, C, D):
    """Return True if moves from A to B and from C to D leave no cluster empty."""
    if A == C:
        return members[A] > 2
    return (members[A] > 1 or D == A) and (members[C] > 1 or B == C)


@njit
def is_admitted(proposed, j, utilities, tolerance):
    """Return True if the lowest utility rises."""
    least = utilities.min() + tolerance
    is_higher = True
    for g in range(utilities.shape[0]):
        is_higher &= proposed[j, g] > least
    return is_higher


@njit
def pair_moves(
    X, shift, weights, groups, labels, members, mass, mean_norms, mean_products,
    squared, counts, mean_dots, cell_products, plain, shifts, cells, starts, rows,
    margins, slots, products, slack, utilities, group_sizes, tolerance, examples,
    targets, start, stop,
):  # fmt: skip
    """Search the pairs a < b of the given single moves, for a in start to stop - 1.

    Move a takes row ``examples[a]`` to ``targets[a]``. Moves are sorted by row.
    Returns the pairs found as numbers a n_moves + b, and the utilities after each.
    """
    n_moves, n_groups = examples.shape[0], utilities.shape[0]
    found, out, n_found = np.empty(64, np.int64), np.empty((64, n_groups)), 0
    clusters, loss = np.empty(4, np.int64), np.empty(n_groups + 1)
    t_x, t_y, reach = np.empty(4), np.empty(4), np.empty(4)
    seen, dots = np.full(weights.shape[0], -1), np.empty(n_moves)
    x = -1
    for a in range(start, stop):
        if examples[a] != x:
            x = examples[a]
            for b in range(a + 1, n_moves):
                y = examples[b]
                is_again = b > a + 1 and y == examples[b - 1]
                dots[b] = dots[b - 1] if is_again else product_of_rows(X, shift, x, y)
        A, B = np.int64(labels[x]), targets[a]
        for b in range(a + 1, n_moves):
            y = examples[b]
            C, D = np.int64(labels[y]), targets[b]
            if y == x or not is_possible(members, A, B, C, D):
                continue
            n_changed = plain_pair(
                x, A, B, y, C, D, dots[b], weights, mass, mean_norms, mean_products,
                squared, counts, mean_dots, cell_products, plain, shifts, clusters,
                t_x, t_y, reach, loss,
            )  # fmt: skip
            number = a * n_moves + b
            save_in_pair(
                x, y, n_changed, clusters, t_x, t_y, reach, X, shift, weights,
                groups, mass, mean_norms, mean_products, squared, cells, starts, rows,
                margins, slots, products, slack, seen, number, loss,
            )  # fmt: skip
            for g in range(n_groups):
                out[n_found, g] = utilities[g] - loss[g] / group_sizes[g]
            if not is_admitted(out, n_found, utilities, tolerance):
                continue
            found[n_found] = number
            n_found += 1
            if n_found == found.shape[0]:
                found = np.concatenate((found, np.empty_like(found)))
                out = np.concatenate((out, np.empty_like(out)))
    return found[:n_found], out[:n_found]


@njit
def pairing_costs(
    weights, labels, members, mass, mean_norms, counts, mean_dots, sums, plain, shifts,
    distances, once, halved, examples, targets, costs, saved, halves, extra,
):  # fmt: skip
    """Bound the cost of pairs from below: costs[a] + costs[b] - saved[a].

    A row that both moves together bring into another cell saves no more than it would
    save by each move if its margins were half as wide. ``halved`` has minus these
    savings of each single move. costs[a] is the plain cost of move a less its half.
    Plain costs add up unless the moves share a cluster. Then its mean moves by D, which
    differs from the sum of both shifts by at most |e|; with R = S - n m of its cell the
    pair saves at most 2 |e| |R| + n (|D_x|^2 + |D_y|^2), and rows that change their
    cells (they are among ``once``) save at most ``extra`` more.
    OUT: costs, saved, halves, extra.
    """
    n_clusters, n_groups, _ = sums.shape
    residuals, largest, furthest = np.empty((3, n_clusters))
    sizes, weight_in_reach = counts.sum(axis=1), 0.0
    for c in range(n_clusters):
        norm = (sums[c].sum(axis=0) ** 2).sum()
        norm += sizes[c] * (sizes[c] * mean_norms[c] - 2 * mean_dots[c].sum())
        residuals[c], largest[c] = np.sqrt(max(norm, 0.0)), shifts[c].max()
        furthest[c] = 0.0
        for y in once:
            furthest[c] = max(furthest[c], distances[c, y])
    for y in once:
        weight_in_reach += weights[y]
    heaviest = weights.max()
    for move in range(examples.shape[0]):
        i = examples[move]
        A, B = np.int64(labels[i]), targets[move]
        halves[move] = -halved[B, n_groups, i]
        costs[move] = plain[A, n_groups, i] + plain[B, n_groups, i] - halves[move]
        saved[move], extra[move] = 0.0, 0.0
        for c in (A, B):
            room = mass[c] - weights[i] - heaviest
            if room <= 0.0 or (c == A and members[A] == 1):
                saved[move], extra[move] = np.inf, np.inf
                break
            D_x, D_y = shifts[c, i], largest[c]
            e = (heaviest * D_x + weights[i] * D_y) / room
            saved[move] += 2 * e * residuals[c] + sizes[c] * (D_x**2 + D_y**2)
            change = 2 * e * furthest[c] + (D_x + D_y + e) ** 2 + D_x**2 + D_y**2
            extra[move] += weight_in_reach * change
        saved[move] += extra[move]


@njit
def promising_pairs(
    X, shift, weights, groups, labels, members, mass, mean_norms, mean_products,
    squared, counts, mean_dots, cell_products, plain, shifts, cells, starts, rows,
    margins, slots, products, slack, utilities, group_sizes, tolerance, examples,
    targets, costs, saved, halves, extra, order, limit, places,
):  # fmt: skip
    """Search the pairs that may cost less than limit in total.

    ``order`` sorts the moves by their costs. The first move of a pair is the cheaper
    one, at one of these ``places`` in the order.
    Returns the pairs found as numbers a n_moves + b with a < b, and the utilities
    after each, in no particular order.
    """
    n_moves, n_groups = order.shape[0], utilities.shape[0]
    least = tolerance * group_sizes.sum()
    found, out, n_found = np.empty(64, np.int64), np.empty((64, n_groups)), 0
    clusters, loss = np.empty(4, np.int64), np.empty(n_groups + 1)
    t_x, t_y, reach = np.empty(4), np.empty(4), np.empty(4)
    seen = np.full(weights.shape[0], -1)
    for place in places:
        a = order[place]
        if 2 * costs[a] - saved[a] >= limit:
            continue
        x, B = examples[a], targets[a]
        A = np.int64(labels[x])
        for later in range(place + 1, n_moves):
            b = order[later]
            if costs[a] + costs[b] - saved[a] >= limit:
                break
            y, D = examples[b], targets[b]
            C = np.int64(labels[y])
            if y == x or not is_possible(members, A, B, C, D):
                continue
            is_shared = A in (C, D) or B in (C, D)
            if not is_shared and costs[a] + costs[b] >= limit:
                continue
            xy = product_of_rows(X, shift, x, y) if is_shared else 0.0
            n_changed = plain_pair(
                x, A, B, y, C, D, xy, weights, mass, mean_norms, mean_products,
                squared, counts, mean_dots, cell_products, plain, shifts, clusters,
                t_x, t_y, reach, loss,
            )  # fmt: skip
            if loss[n_groups] - halves[a] - halves[b] - extra[a] >= limit:
                continue
            number = min(a, b) * n_moves + max(a, b)
            save_in_pair(
                x, y, n_changed, clusters, t_x, t_y, reach, X, shift, weights,
                groups, mass, mean_norms, mean_products, squared, cells, starts, rows,
                margins, slots, products, slack, seen, number, loss,
            )  # fmt: skip
            if loss[n_groups] >= limit:
                continue
            is_harmless = True
            for g in range(n_groups):
                out[n_found, g] = utilities[g] - loss[g] / group_sizes[g]
                is_harmless &= out[n_found, g] >= utilities[g] - tolerance
            if not is_admitted(out, n_found, utilities, tolerance):
                continue
            # As next_limit of move_kernels: a pair that harms no group costs at most
            # ``least``, so one that harms a group rules out only what costs more.
            change = loss[n_groups]
            change = change if is_harmless else max(change, least)
            limit = min(limit, change + least)
            found[n_found] = number
            n_found += 1
            if n_found == found.shape[0]:
                found = np.concatenate((found, np.empty_like(found)))
                out = np.concatenate((out, np.empty_like(out)))
    return found[:n_found], out[:n_found]
