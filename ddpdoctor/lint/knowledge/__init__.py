"""What torch, its frameworks and the standard library do, as tables: no behaviour, no values. Pure.

Imports nothing of lint.
"""
