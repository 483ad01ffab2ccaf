"""How much an analysis does before it takes the rest as unknown: what keeps the time that a file takes in bounds."""

from __future__ import annotations

#: how deep calls are followed
DEPTH = 12
#: statements simulated for one file; beyond it, calls are no longer followed
STATEMENTS = 12_000
#: statements simulated after which no body is run more than once
REPEATED = 6_000
#: loops in one another whose bodies are tried out before they are run
TRIED_LOOPS = 2
#: objects in a list that a loop is gone through one by one
OBJECTS = 6
#: constants that a comprehension is gone through one by one
CONSTANTS = 4
