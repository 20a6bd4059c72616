"""Lists of independent tasks: their results as Parquet, and runners from one process to Ray."""
