"""Pure. One diagnosis per file; the module's docstring is its explanation."""
