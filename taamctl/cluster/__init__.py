"""The same work on a Dask cluster."""
