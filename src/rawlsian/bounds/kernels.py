"""Alternating projections and the inequalities that tighten them, compiled.

Let Z_ij = Y_ij / (r_i r_j). For a clustering it is 1 / W_C if i and j are both in
cluster C, which has weight W_C, and else 0. Then for every row i and rows T

    sum_{t in T} Z_it - sum_{s < t in T} Z_st <= Z_ii:

if m rows of T are with i, the left side is at most m - m (m - 1) / 2 <= 1 times the
right one. Cut (i, T) is that inequality; with two rows in T it is the triangle
inequality, with more a 2-partition inequality (Groetschel and Wakabayashi, 1990). Cuts
are arrays of shape (n_cuts, n_most + 1): i, then T, then -1 for rows that T lacks.

Numba's cache checks only the file of a function, so no compiled function calls one of
another file.
"""

import numpy as np

from rawlsian._support.compile import njit


@njit
def advance(projection, r, K, step, overshoot, n_rows, apart, S, M):
    """Make one step. S is the positive part plus the multiplier, which is never > 0.

    Entries beyond n_rows are free: their multiplier is 0. Entries of the pairs apart,
    of shape (n_pairs, 2), are 0 in every clustering: their positive part is 0.
    IN: projection, without r r^T.  OUT: S; M, the matrix to project next.
    """
    n = len(r)
    before = np.empty(len(apart))
    for pair in range(len(apart)):
        i, j = apart[pair]
        before[pair] = S[i, j]
    for i in range(n):
        for j in range(n):
            value = S[i, j]
            is_free = i >= n_rows or j >= n_rows
            if value > 0.0 or is_free:
                value *= 1.0 - overshoot
            value += overshoot * (projection[i, j] + r[i] * r[j])
            S[i, j] = value
            M[i, j] = (value if is_free else abs(value)) + K[i, j] / step
    for pair in range(len(apart)):
        i, j = apart[pair]
        value = before[pair] + overshoot * (projection[i, j] + r[i] * r[j])
        S[i, j] = S[j, i] = value
        M[i, j] = M[j, i] = K[i, j] / step - value


@njit
def find_cuts(Z, least, slack, violations, others):
    """Find cuts (i, T) that Z violates by more than least, for each row i.

    Z has no entry below 0. First come the n_kept pairs T that Z violates most, or
    fails to by less than slack: cuts in use are hardly violated, but their extensions
    may be. Each pair is extended by the row that raises the violation most, while one
    does by more than least. Only rows near i are looked at: by more than least, and so
    that a pair with another can come within slack.
    OUT: violations, of shape (n_rows, n_kept), 0 where there is no cut; others, of
    shape (n_rows, n_kept, n_most), the rows of T, rising, then -1.
    """
    n_rows, n_kept = violations.shape
    n_most = others.shape[2]
    near = np.empty(n_rows, np.int64)
    own = np.empty(n_rows)
    for i in range(n_rows):
        others[i] = -1
        top = violations[i]
        top[:] = -slack
        largest = 0.0
        for j in range(n_rows):
            if j != i:
                largest = max(largest, Z[i, j])
        limit = max(least, Z[i, i] - largest - slack)
        n_near = 0
        for j in range(n_rows):
            if j != i and Z[i, j] > limit:
                near[n_near] = j
                own[n_near] = Z[i, j]
                n_near += 1
        half = 0.5 * (Z[i, i] - slack)  # one row of each pair is above
        for first in range(n_near):
            if own[first] <= half:
                continue
            j = near[first]
            rest = own[first] - Z[i, i]
            for second in range(n_near):
                m = near[second]
                violation = rest + own[second] - Z[j, m]
                if violation <= top[n_kept - 1]:
                    continue
                if m == j or (own[second] > half and m < j):  # found as (i, m, j)
                    continue
                place = n_kept - 1
                while place > 0 and top[place - 1] < violation:
                    top[place] = top[place - 1]
                    others[i, place] = others[i, place - 1]
                    place -= 1
                top[place] = violation
                others[i, place, 0], others[i, place, 1] = j, m
        for place in range(n_kept):
            T = others[i, place]
            if T[0] < 0:
                top[place] = 0.0
                continue
            for size in range(2, n_most):
                gain, best = least, -1
                for second in range(n_near):
                    m = near[second]
                    more = own[second]
                    for t in T[:size]:
                        more -= np.inf if t == m else Z[t, m]
                    if more > gain:
                        gain, best = more, m
                if best < 0:
                    break
                T[size] = best
                top[place] += gain
            if top[place] <= least:
                top[place] = 0.0
            size = n_most
            while T[size - 1] < 0:
                size -= 1
            T[:size].sort()


@njit
def weigh_cuts(projection, inverse, cuts, rates, weights):
    """Raise the weights of violated cuts, lower those of others, but not below 0.

    IN: projection, without r r^T; inverse, 1 / r_i; rates, the rise per violation.
    OUT: weights.
    """
    for cut in range(len(cuts)):
        i = cuts[cut, 0]
        a = inverse[i]
        violation = -a * a * projection[i, i] - 1.0  # Z has 1 from r r^T
        for s in range(1, cuts.shape[1]):
            j = cuts[cut, s]
            if j < 0:
                break
            near = a * projection[i, j]
            for t in range(1, s):
                m = cuts[cut, t]
                near -= inverse[m] * projection[j, m]
            violation += inverse[j] * near + 2.0 - s
        weights[cut] = max(weights[cut] + rates[cut] * violation, 0.0)


@njit
def add_cuts(inverse, cuts, weights, matrix):
    """Add weights[cut] times the matrix of each cut.

    Its product with the Y of a clustering is Z_ii + sum Z_st - sum Z_it >= 0.
    OUT: matrix.
    """
    for cut in range(len(cuts)):
        weight = weights[cut]
        if weight == 0.0:
            continue
        i = cuts[cut, 0]
        matrix[i, i] += weight * inverse[i] ** 2
        for s in range(1, cuts.shape[1]):
            j = cuts[cut, s]
            if j < 0:
                break
            entry = 0.5 * weight * inverse[j]
            matrix[i, j] -= entry * inverse[i]
            matrix[j, i] -= entry * inverse[i]
            for t in range(1, s):
                m = cuts[cut, t]
                matrix[j, m] += entry * inverse[m]
                matrix[m, j] += entry * inverse[m]


@njit
def squared_norms(inverse, cuts):
    """Return the squared norm of the matrix of each cut."""
    norms = np.empty(len(cuts))
    for cut in range(len(cuts)):
        i = cuts[cut, 0]
        norm = inverse[i] ** 4
        for s in range(1, cuts.shape[1]):
            j = cuts[cut, s]
            if j < 0:
                break
            norm += 0.5 * (inverse[i] * inverse[j]) ** 2
            for t in range(1, s):
                norm += 0.5 * (inverse[cuts[cut, t]] * inverse[j]) ** 2
        norms[cut] = norm
    return norms
