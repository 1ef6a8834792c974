"""Past one machine: the same work as units on the workers of a Dask cluster, kept by this
process as if it had done it itself.
"""
