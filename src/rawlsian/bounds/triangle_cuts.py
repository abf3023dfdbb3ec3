"""Triangle inequalities that hold for every clustering, compiled.

Let Z_ij = Y_ij / (r_i r_j). For a clustering it is 1 / W_C if i and j are both in
cluster C, which has weight W_C, and else 0. Then Z_ij + Z_il <= Z_ii + Z_jl for all
rows i, j and l: if i is in one cluster with j and with l, then j and l are in one. Cut
(i, j, l) is that inequality, divided by the norm of its matrix.

Numba's cache checks only the file of a function, so no compiled function calls one of
another file.
"""

import numpy as np

from rawlsian._support.compile import njit


@njit
def find_cuts(Z, least, start, stop, violations, seconds, thirds):
    """Find the cuts (i, j, l) that Z violates most, by more than least, for each i.

    OUT: violations, seconds (j), thirds (l), of shape (n_rows, n_kept), at rows start
    to stop - 1; violations are in falling order, and 0 if there are no more.
    """
    n_rows, n_kept = violations.shape
    for i in range(start, stop):
        violations[i] = 0.0
        for j in range(n_rows):
            # Z_il - Z_jl must exceed this.
            rest = Z[i, i] - Z[i, j] + max(least, violations[i, n_kept - 1])
            for m in range(j + 1, n_rows):
                if Z[i, m] - Z[j, m] <= rest or j == i or m == i:
                    continue
                violation = Z[i, j] + Z[i, m] - Z[i, i] - Z[j, m]
                if violation <= max(least, violations[i, n_kept - 1]):
                    continue
                place = n_kept - 1
                while place > 0 and violations[i, place - 1] < violation:
                    violations[i, place] = violations[i, place - 1]
                    seconds[i, place] = seconds[i, place - 1]
                    thirds[i, place] = thirds[i, place - 1]
                    place -= 1
                violations[i, place] = violation
                seconds[i, place], thirds[i, place] = j, m


@njit
def measure_cuts(Z, inverse, cuts, violations, norms):
    """Compute the violation of each cut, divided by the norm of its matrix.

    IN: inverse, 1 / r_i; cuts, of shape (n_cuts, 3).  OUT: violations, norms.
    """
    for cut in range(len(cuts)):
        i, j, m = cuts[cut]
        ij, im = inverse[i] * inverse[j], inverse[i] * inverse[m]
        ii, jm = inverse[i] ** 2, inverse[j] * inverse[m]
        norms[cut] = np.sqrt(0.5 * (ij**2 + im**2 + jm**2) + ii**2)
        excess = Z[i, j] + Z[i, m] - Z[i, i] - Z[j, m]
        violations[cut] = excess / norms[cut]


@njit
def add_up_cuts(inverse, cuts, weights, matrix):
    """Sum weights[cut] T over the cuts, with T the matrix of a cut.

    For the Y of a clustering, <T, Y> >= 0.  OUT: matrix.
    """
    matrix[:] = 0.0
    for cut in range(len(cuts)):
        i, j, m = cuts[cut]
        weight = weights[cut]
        matrix[i, i] += weight * inverse[i] ** 2
        for a, b, sign in ((i, j, -0.5), (i, m, -0.5), (j, m, 0.5)):
            entry = sign * weight * inverse[a] * inverse[b]
            matrix[a, b] += entry
            matrix[b, a] += entry
