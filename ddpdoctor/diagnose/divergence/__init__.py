"""Why the ranks' histories differ: the pattern of each divergence, the statements that parted the ranks, the cause.

Imports Facts, the digest and the readers of source. Knows no rule, and says nothing of ranks that are stuck alone.
"""
