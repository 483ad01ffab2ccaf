"""Impure. Starts the user's command and knows its ranks."""
