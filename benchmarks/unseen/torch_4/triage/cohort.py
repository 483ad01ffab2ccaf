"""Reference cohort from the hospital archive, which is often overloaded."""
import logging
import random
import time

log = logging.getLogger(__name__)


class Archive:
    def __init__(self, refusals):
        self.refusals = refusals

    def query(self, year):
        time.sleep(0.4)
        if self.refusals > 0:
            self.refusals -= 1
            raise ConnectionError("503 archive is busy")
        rng = random.Random(year)
        return [rng.gauss(0.2, 0.1) for _ in range(32)]


def patiently(call, *args, attempts=12, first=0.3, longest=2.5):
    delay = first
    for attempt in range(1, attempts + 1):
        try:
            return call(*args)
        except ConnectionError as error:
            if attempt == attempts:
                raise
            log.info("attempt %d: %s", attempt, error)
            time.sleep(delay)
            delay = min(longest, 1.6 * delay)


def thresholds(archive, years):
    values = []
    for year in years:
        values += patiently(archive.query, year)
    values.sort()
    return values[len(values) // 4], values[3 * len(values) // 4]
