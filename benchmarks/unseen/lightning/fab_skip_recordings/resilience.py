import functools
import logging

log = logging.getLogger("train")


def tolerate(*errors, limit=25):
    """Decorator for steps that may meet a broken recording: log it, carry on with the next one."""

    def decorate(step):
        failures = []

        @functools.wraps(step)
        def wrapper(*args, **kwargs):
            try:
                return step(*args, **kwargs)
            except errors as error:
                failures.append(error)
                log.warning("%s: %s (%d so far)", step.__name__, error, len(failures))
                if len(failures) > limit:
                    raise
                return None

        return wrapper

    return decorate
