"""Decorators for functions that meet measurements of old instruments."""
import functools
import logging
import time

log = logging.getLogger("organ")


def tolerant(*errors, fallback=None, limit=20):
    """Logs an error of the decorated function instead of ending the run; more than `limit` of them are too many."""

    def decorate(function):
        seen = 0

        @functools.wraps(function)
        def guarded(*args, **kwargs):
            nonlocal seen
            try:
                return function(*args, **kwargs)
            except errors as error:
                seen += 1
                if seen > limit:
                    raise
                log.warning("%s: %s", function.__name__, error)
                return fallback

        return guarded

    return decorate


def timed(function):
    """Keeps the seconds that were spent in the decorated function, as its attribute."""

    @functools.wraps(function)
    def measured(*args, **kwargs):
        begin = time.perf_counter()
        try:
            return function(*args, **kwargs)
        finally:
            measured.seconds += time.perf_counter() - begin

    measured.seconds = 0.0
    return measured
