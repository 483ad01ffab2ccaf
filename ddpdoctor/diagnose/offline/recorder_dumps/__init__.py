"""Analysis of the Flight Recorder dumps of a dead job, for any number of ranks. Pure.

Everything here is linear in ranks and groups: operations are examined once for each distinct ring, and the wait-for
graph has one node for each pending operation, not one for each rank.
"""
