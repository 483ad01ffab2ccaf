"""Budgets: how much an analysis simulates before it treats the rest as unknown, which bounds the time per file."""

from __future__ import annotations

#: most nested calls that are followed
DEPTH = 12
#: statements simulated for one file; beyond it, calls are no longer followed
STATEMENTS = 12_000
#: statements simulated after which no body is run more than once
REPEATED = 6_000
#: most nested loops whose bodies are tried out before they are run
TRIED_LOOPS = 2
#: the same of loops that what they carry over may end
TRIED_LEAVING = 4
#: most objects in a list over which a loop is unrolled
OBJECTS = 6
#: most constants over which a comprehension is unrolled
CONSTANTS = 4
#: most elements of a tuple or list that are tracked individually
ELEMENTS = 64
#: most entries of a dict that are tracked: configurations are large and nested
LEAVES = 2_000
