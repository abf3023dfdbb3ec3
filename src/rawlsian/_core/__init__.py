"""Checks of input, Problem, Assignment, cluster sums, move costs, nearest centers."""
