"""Impure. What is loaded inside workers and the launcher. Stdlib only, relative imports only, never raises."""
