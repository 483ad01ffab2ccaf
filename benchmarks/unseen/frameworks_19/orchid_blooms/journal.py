"""The journal of a greenhouse: blooms that the gardener should look at, in pages."""

import threading

import numpy as np


class Journal:
    """Rows of (bloom, error). Full pages are put away with their summary; threads may write and read at any time."""

    def __init__(self, house, page_rows):
        self.house = house
        self.page_rows = page_rows
        self.rows = []
        self.pages = []
        self._lock = threading.Lock()

    def add(self, blooms, errors):
        with self._lock:
            self.rows.extend(zip(blooms.tolist(), errors.tolist()))
            if len(self.rows) >= self.page_rows:
                self.turn_page()

    def turn_page(self):
        """Puts the page away with the summary of what is on it."""
        page = self.summary()
        page["rows"] = self.rows[: self.page_rows]
        self.pages.append(page)
        self.rows = self.rows[self.page_rows :]

    def summary(self):
        """How many rows are on the open page, and the spread of their errors."""
        with self._lock, np.errstate(invalid="ignore", divide="ignore"):
            errors = np.array([error for _, error in self.rows], dtype=np.float64)
            return {
                "house": self.house,
                "count": len(errors),
                "mean": errors.sum() / len(errors) if len(errors) else float("nan"),
                "worst": errors.max(initial=0.0),
            }


class Display(threading.Thread):
    """Shows the open page at the door of the greenhouse."""

    def __init__(self, journal, every):
        super().__init__(name=f"display-{journal.house}", daemon=True)
        self.journal = journal
        self.every = every
        self.closed = threading.Event()

    def run(self):
        while not self.closed.wait(self.every):
            page = self.journal.summary()
            print(f"house {page['house']}: {page['count']} open rows, mean {page['mean']:.3f}", flush=True)
