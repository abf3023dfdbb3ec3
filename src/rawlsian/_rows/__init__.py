"""Groups, out-of-core rows (arrays, Parquet, Dask), and executors that run on them."""
