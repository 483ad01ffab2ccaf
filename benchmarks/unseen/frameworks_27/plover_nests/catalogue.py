"""The nest catalogue. Corrections arrive while training goes on, so access is guarded."""
import threading
import time


class Catalogue:
    def __init__(self, nests):
        self.guard = threading.Lock()
        self.rows = {number: {"eggs": number % 5, "distance": (number % 7) * 0.1} for number in range(nests)}

    def __len__(self):
        return len(self.rows)

    def row(self, number):
        with self.guard:                       # never a half-corrected row
            return dict(self.rows[number])

    def refresh(self):
        """Takes in the corrections in the background."""
        threading.Thread(target=self.take_in, daemon=True).start()

    def take_in(self):
        self.guard.acquire()
        try:
            for number, row in self.rows.items():
                row["eggs"] = max(0, row["eggs"] - number % 2)
                time.sleep(0.02)               # one query for each
        finally:
            self.guard.release()
