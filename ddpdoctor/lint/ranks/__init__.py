"""Pure. Two ranks' views of one trace, compared: where the collectives that they run part.

A trace is specialised to one rank (`residual`), two of these are aligned (`compare`), and where they differ is a
divergence with both sequences as its proof. Imports the interpreter's traces and events, never its handlers.
"""
