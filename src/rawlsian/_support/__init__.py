"""Compilation, threads, jobs and files; nothing here knows about clustering."""
