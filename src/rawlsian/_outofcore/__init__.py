"""The same problem for rows that do not fit into memory."""
