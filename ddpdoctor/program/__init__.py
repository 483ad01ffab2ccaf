"""A Python program as written: parsed files, their names, classes, functions and imports, found on demand. Pure.

Nothing is evaluated here. `project` finds the modules of a project through a file-reading function that its caller
passes in. Shared by everything that reads user source; imports `model` only.
"""
