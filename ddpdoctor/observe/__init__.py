"""Sampling (impure: signals) and judging progress (pure: stall)."""
