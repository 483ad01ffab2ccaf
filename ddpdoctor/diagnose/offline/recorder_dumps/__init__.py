"""Pure. What the Flight Recorders of a dead job say, at any number of ranks.

Everything here is linear in ranks and groups: operations are looked at once for each distinct ring, and ranks meet in
operations, so that the wait-for graph has one node for each operation that somebody stands in, not one for each rank.
"""
