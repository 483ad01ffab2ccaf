"""Why the ranks' histories differ: each divergence's pattern, the statements where the ranks diverged, and its cause.

Imports Facts, the digest and the readers of source. Knows no rule, and says nothing of ranks that are stuck alone.
"""
