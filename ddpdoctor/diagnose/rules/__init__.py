"""Pure. One diagnosis a file: its documentation, what it needs, and how it is recognised."""
