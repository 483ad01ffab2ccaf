"""What one rank is stuck in or busy with: a system call, a lock, a worker, a compiler, a save, the way out.

Imports Facts, the digest and the readers of source. Compares no histories and knows no rule.
"""
