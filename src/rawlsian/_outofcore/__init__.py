"""Out-of-core problem: sums by block, a sample, fits, walks and audits by passes."""
