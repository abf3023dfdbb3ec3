"""Problem, assignment, cluster sums, move costs, nearest centers and checks."""
