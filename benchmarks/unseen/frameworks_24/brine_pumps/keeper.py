"""Keeps the best state of the engine, and the history of the held-out error."""

import json
from pathlib import Path


class Keeper:
    """Saves a checkpoint of the engine whenever the held-out error has improved."""

    def __init__(self, engine, folder, rank):
        self.engine = engine
        self.folder = Path(folder)
        self.rank = rank
        self.best = float("inf")
        self.history = []

    def update(self, epoch, error):
        self.history.append(round(error, 5))
        if error < self.best:
            self.best = error
            self.engine.save_checkpoint(str(self.folder), tag=f"epoch{epoch}")

    def write_history(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"history{self.rank}.json"
        path.write_text(json.dumps({"best": self.best, "errors": self.history}))
