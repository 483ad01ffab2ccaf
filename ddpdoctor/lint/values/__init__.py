"""Abstract values: what an expression is on each rank of a small simulated job, and how two values are joined. Pure.

A value is one constant for all ranks, one constant per rank, or a symbol for something unknown, with a taint that says
how much it can differ between ranks. Imports `knowledge` and `program`.
"""
