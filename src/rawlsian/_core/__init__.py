"""Problem, assignment, cluster sums and move costs."""
