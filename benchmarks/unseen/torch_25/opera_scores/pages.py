"""Pages of opera scores as symbols; pages of some houses are long, and some have to be fetched again."""
import logging
import time

import torch

log = logging.getLogger("pages")
SYMBOLS = 32


class House:
    """The scores of one opera house."""

    def __init__(self, number, pages, slow_page=None):
        self.number = number
        self.pages = pages
        self.slow_page = slow_page
        self.failures = {40: 2, 41: 1} if number == 1 else {}

    def fetch(self, page):
        if self.failures.get(page, 0) > 0:
            self.failures[page] -= 1
            raise ConnectionError(f"page {page} of house {self.number}")
        if page == self.slow_page:
            time.sleep(3.0)
        g = torch.Generator().manual_seed(self.number * 5000 + page)
        start = torch.randint(0, SYMBOLS, (8, 1), generator=g)
        steps = torch.randint(1, 3, (8, 20), generator=g).cumsum(1)
        return (start + steps) % SYMBOLS

    def fetch_patiently(self, page, attempts=5):
        for attempt in range(attempts):
            try:
                return self.fetch(page)
            except ConnectionError as problem:
                log.warning("%s, attempt %d", problem, attempt + 1)
                time.sleep(0.4 * 2**attempt)
        raise RuntimeError(f"page {page} of house {self.number} cannot be had")

    def __iter__(self):
        for page in range(self.pages):
            yield self.fetch_patiently(page)
