"""Pure. What torch, its frameworks and the standard library do, as tables: no behaviour, no values.

Imports nothing of lint's.
"""
