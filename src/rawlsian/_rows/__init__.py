"""Rows and their groups, in memory, in files and on Dask workers."""
