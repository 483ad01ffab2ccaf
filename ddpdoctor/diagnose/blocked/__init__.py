"""What one rank is blocked in or busy with: a system call, a lock, a data worker, a compiler, a save, its exit.

Imports Facts, the digest and the readers of source. Compares no histories and knows no rule.
"""
