"""Diagnoses without the ranks' pages: from stacks, logs and recorder dumps that a dead job left.

Imports everything before it, but of the rules only their codes.
"""
