import functools
import logging

logger = logging.getLogger("asr.resilience")


class StepFailed(Exception):
    pass


def tolerant(max_failures, on=(RuntimeError, ValueError)):
    """Let a training step fail a few times before the run is given up."""

    def decorate(fn):
        failures = 0

        @functools.wraps(fn)
        def wrapper(*args, **kwargs):
            nonlocal failures
            try:
                return fn(*args, **kwargs)
            except on as err:
                failures += 1
                logger.warning("step failed (%d of %d allowed): %s", failures, max_failures, err)
                if failures > max_failures:
                    raise StepFailed("too many failed steps") from err
                return None

        return wrapper

    return decorate
