"""Impure. Starts the user's command and finds the ranks among its processes."""
