"""Pure. One lint rule a file; the docstring of a rule is its page."""
