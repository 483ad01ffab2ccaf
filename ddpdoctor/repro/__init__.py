"""Runs the fixtures: real jobs that hang for a known reason."""
