"""The evidence digest that Facts holds: wait-for graph, state of each rank, divergences of histories, failures.

Imports the model only: nothing here knows Facts, rules or the job's source.
"""
