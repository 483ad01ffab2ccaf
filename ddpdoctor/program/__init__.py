"""Pure. A Python program as it is written: parsed files, their names, classes, functions and imports, found on demand.

Nothing is evaluated here. `project` finds the modules of a project through a function that reads files, which whoever
uses it hands in. Shared by everything that reads people's source; imports `model` only.
"""
