"""Work on arrays that are too large for one piece: chunk by chunk, in this process or on many machines (dask)."""
