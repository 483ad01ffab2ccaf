"""Pure. The abstract interpreter: it runs a module on several imaginary ranks at once.

It yields events (calls, loops, branches) and, for each function, a trace: the tree of its collectives, branches, loops
and exits. Handlers of expressions, statements and calls reach one another through `machine.Machine` alone. Imports
`values`, `knowledge` and `program`.
"""
