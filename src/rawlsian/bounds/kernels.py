"""Alternating projections and triangle inequalities, compiled.

Let Z_ij = Y_ij / (r_i r_j). For a clustering it is 1 / W_C if i and j are both in
cluster C, which has weight W_C, and else 0. Then Z_ij + Z_il <= Z_ii + Z_jl for all
rows i, j and l: if i is in one cluster with j and with l, then j and l are in one. Cut
(i, j, l) is that inequality. As adding a constant to Z changes no violation, Y may be
given without its part r r^T.

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
def find_cuts(Z, least, violations, seconds, thirds):
    """Find the cuts (i, j, l) that Z violates most, by more than least, for each i.

    Z has no entry below 0, so one of Z_ij and Z_il is above half of Z_ii.
    OUT: violations, seconds (j), thirds (l), of shape (n_rows, n_kept); violations are
    in falling order, and 0 if there are no more; j < l.
    """
    n_rows, n_kept = violations.shape
    near = np.empty(n_rows, np.int64)
    for i in range(n_rows):
        violations[i] = 0.0
        largest = 0.0
        for j in range(n_rows):
            if j != i:
                largest = max(largest, Z[i, j])
        n_near = 0
        for j in range(n_rows):
            if j != i and Z[i, j] > Z[i, i] - largest + least:
                near[n_near] = j
                n_near += 1
        half = 0.5 * (Z[i, i] + least)
        for first in range(n_near):
            j = near[first]
            if Z[i, j] <= half:
                continue
            rest = Z[i, j] - Z[i, i]
            for second in range(n_near):
                m = near[second]
                violation = rest + Z[i, m] - Z[j, m]
                if violation <= least or violation <= violations[i, n_kept - 1]:
                    continue
                if m == j or (Z[i, m] > half and m < j):  # found as (i, m, j)
                    continue
                place = n_kept - 1
                while place > 0 and violations[i, place - 1] < violation:
                    violations[i, place] = violations[i, place - 1]
                    seconds[i, place] = seconds[i, place - 1]
                    thirds[i, place] = thirds[i, place - 1]
                    place -= 1
                violations[i, place] = violation
                seconds[i, place], thirds[i, place] = min(j, m), max(j, m)


@njit
def weigh_cuts(projection, inverse, cuts, rates, weights):
    """Raise the weights of violated cuts, lower those of others, but not below 0.

    IN: inverse, 1 / r_i; cuts, of shape (n_cuts, 3); rates, the rise per violation.
    OUT: weights.
    """
    for cut in range(len(cuts)):
        i, j, m = cuts[cut]
        a, b, c = inverse[i], inverse[j], inverse[m]
        violation = a * (b * projection[i, j] + c * projection[i, m])
        violation -= a * a * projection[i, i] + b * c * projection[j, m]
        weights[cut] = max(weights[cut] + rates[cut] * violation, 0.0)


@njit
def add_cuts(inverse, cuts, weights, matrix):
    """Add weights[cut] T over the cuts, with T the matrix of a cut.

    For the Y of a clustering, <T, Y> = Z_ii + Z_jl - Z_ij - Z_il >= 0.  OUT: matrix.
    """
    for cut in range(len(cuts)):
        weight = weights[cut]
        if weight == 0.0:
            continue
        i, j, m = cuts[cut]
        matrix[i, i] += weight * inverse[i] ** 2
        for a, b, sign in ((i, j, -0.5), (i, m, -0.5), (j, m, 0.5)):
            entry = sign * weight * inverse[a] * inverse[b]
            matrix[a, b] += entry
            matrix[b, a] += entry


@njit
def squared_norms(inverse, cuts):
    """Return the squared norm of the matrix of each cut."""
    norms = np.empty(len(cuts))
    for cut in range(len(cuts)):
        i, j, m = cuts[cut]
        ij, im = inverse[i] * inverse[j], inverse[i] * inverse[m]
        ii, jm = inverse[i] ** 2, inverse[j] * inverse[m]
        norms[cut] = 0.5 * (ij**2 + im**2 + jm**2) + ii**2
    return norms
