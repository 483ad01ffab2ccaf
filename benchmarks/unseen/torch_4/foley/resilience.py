import functools
import logging

log = logging.getLogger("foley")


def tolerant(limit):
    """Let a training step fail now and then, up to `limit` times in all."""

    def wrap(function):
        failures = []

        @functools.wraps(function)
        def call(*args, **kwargs):
            try:
                return function(*args, **kwargs)
            except RuntimeError as error:
                failures.append(error)
                if len(failures) > limit:
                    raise
                log.warning("%s failed (%s), going on", function.__name__, error)
                return None

        return call

    return wrap
