"""What each branch of the library learns about its own readers."""

import statistics

import torch

GENRES = ["crime", "history", "poetry", "travel"]


class BranchReport:
    """Medians of the error in days, genre by genre, for the sheet that all branches get.

    A branch adds its loans one by one; the errors are whole days, as the desk counts them.
    """

    def __init__(self, accelerator):
        self.accelerator = accelerator
        self.days = {genre: [] for genre in GENRES}

    def add(self, predicted, actual, genre):
        for p, a, k in zip(predicted.tolist(), actual.tolist(), genre.tolist(), strict=True):
            self.days[GENRES[k]].append(abs(round(p) - round(a)))

    def medians(self):
        return [statistics.median(self.days[genre]) for genre in GENRES]

    def sheet(self):
        """One row per branch, the same on all processes."""
        own = torch.tensor(self.medians())
        rows = self.accelerator.gather(own[None])
        return rows.float()

    def write(self, week):
        rows = self.sheet()
        self.accelerator.print(f"week {week}: median error in days")
        for branch, row in enumerate(rows.tolist()):
            cells = "  ".join(f"{genre} {days:.1f}" for genre, days in zip(GENRES, row, strict=True))
            self.accelerator.print(f"  branch {branch}: {cells}", flush=True)
        return rows.mean().item()
