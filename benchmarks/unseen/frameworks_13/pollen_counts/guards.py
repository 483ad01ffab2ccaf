import logging

log = logging.getLogger("pollen")


class Tolerant:
    """Lets a long run go on over a few bad slides.

    tolerant = Tolerant(limit=20)
    for slide in slides:
        with tolerant:
            ...
    """

    def __init__(self, limit=20, kinds=(ValueError, IndexError, RuntimeError)):
        self.limit = limit
        self.kinds = kinds
        self.seen = []

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if kind is None or not issubclass(kind, self.kinds):
            return False
        self.seen.append(str(error))
        log.debug("slide left out: %s", error)
        return len(self.seen) <= self.limit
