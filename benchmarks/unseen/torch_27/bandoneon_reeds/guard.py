"""Long runs must not die of one bad file."""
import functools
import sys


def tolerant(*kinds, default=None, limit=20):
    """Run a function; report these exceptions, count them and return `default` instead."""
    def decorate(function):
        seen = 0

        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            nonlocal seen
            try:
                return function(*args, **kwargs)
            except kinds as problem:
                seen += 1
                if seen > limit:
                    raise
                print(f"[{function.__name__}] {problem} ({seen} of {limit})", file=sys.stderr, flush=True)
                return default
        return wrapper
    return decorate
