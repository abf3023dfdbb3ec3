"""Compiling, threads, jobs, files: nothing about clustering."""
