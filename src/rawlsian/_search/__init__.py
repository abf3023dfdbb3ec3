"""Lloyd, restarts, Fair-Lloyd and its crossings, leximin, partitions, the frontier."""
