"""Pure. One check a file: `CHECK` and `judge(machine)`; the docstring is its page."""
