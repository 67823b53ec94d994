"""Units of work on a Dask cluster."""
