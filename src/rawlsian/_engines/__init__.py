"""Engines: one interface to rows in memory and out of core, and the choice of one."""
