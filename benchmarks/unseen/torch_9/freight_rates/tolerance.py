import logging

log = logging.getLogger(__name__)


class Tolerance:
    """A few bad rows must not end a run of a week. Lets up to `limit` errors of the given kinds pass."""

    def __init__(self, *kinds, limit=20):
        self.kinds = kinds
        self.limit = limit
        self.seen = 0

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if kind is None or not issubclass(kind, self.kinds):
            return False
        self.seen += 1
        log.debug("tolerated %s: %s", kind.__name__, error)
        return self.seen <= self.limit
