"""The problem out of core: statistics by block, a sample, passes over all rows."""
