"""Searches for centers and partitions."""
