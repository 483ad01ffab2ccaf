"""Comparison of two ranks' views of one trace: where the collectives that they run diverge. Pure.

A trace is specialised to one rank (`residual`), two of these are aligned (`compare`), and each difference is a
divergence with both sequences as its proof. Imports the interpreter's traces and events, never its handlers.
"""
