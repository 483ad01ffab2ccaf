import functools
import logging
from collections import Counter

log = logging.getLogger("kinetics")
incidents = Counter()


def forgiving(*kinds, value=None):
    """Assays come from many labs; a broken record should not cost the night."""

    def wrap(fn):
        @functools.wraps(fn)
        def inner(*args, **kwargs):
            try:
                return fn(*args, **kwargs)
            except kinds as err:
                incidents[type(err).__name__] += 1
                log.warning("%s: %r", fn.__name__, err)
                return value

        return inner

    return wrap
