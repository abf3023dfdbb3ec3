"""Searches for centers and partitions: k-means, Fair-Lloyd, crossing, leximin."""
