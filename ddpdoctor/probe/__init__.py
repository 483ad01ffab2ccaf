"""Impure. Loaded inside workers and the launcher. Uses only the standard library and relative imports, and never
raises."""
