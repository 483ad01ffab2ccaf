import logging

log = logging.getLogger(__name__)


class Guard:
    """One bad record must not end a run of a week: it is counted and logged."""

    def __init__(self, most=100):
        self.most = most
        self.seen = 0

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if kind is None or not issubclass(kind, (RuntimeError, ValueError)):
            return False
        self.seen += 1
        log.warning("record left out: %s", error)
        return self.seen <= self.most
