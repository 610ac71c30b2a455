"""Shards on many machines: Dask hands them to workers, and what happens there comes back as it happens.

The files whose names begin with `on_worker` are executed by workers: what goes there is plain data, and the name of a
function of Tunbench's, which each worker has installed.
"""
