"""What can be said without the ranks' pages: from stacks, logs and recorder dumps that a dead job left behind.

Imports everything before it but the rules: of these only their codes.
"""
