"""The abstract interpreter: it runs a module on several simulated ranks at once. Pure.

It produces events (calls, loops, branches) and, for each function, a trace: the tree of its collectives, branches,
loops and exits. Handlers of expressions, statements and calls reach one another only through `machine.Machine`. Imports
`values`, `knowledge` and `program`.
"""
