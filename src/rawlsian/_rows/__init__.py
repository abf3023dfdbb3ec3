"""Rows and groups: sources in memory, in files and on Dask workers, and executors."""
