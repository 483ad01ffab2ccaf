"""A ladder of sparring partners with ratings, one file per partner.

The page that shows the ladder reads the same files from another host, so that an entry is locked with a lock file while
it is changed.
"""
import contextlib
import json
import os
import time


class Entry:
    def __init__(self, folder, name):
        self.path = os.path.join(folder, name + ".json")
        self.lock_path = self.path + ".lock"

    def create(self, skill):
        self.write({"skill": skill, "rating": 1000.0, "streak": 0, "retired": False, "matches": 0})

    def read(self):
        with open(self.path) as f:
            return json.load(f)

    def write(self, values):
        with open(self.path + ".new", "w") as f:
            json.dump(values, f)
        os.replace(self.path + ".new", self.path)

    def lock(self):
        while True:
            try:
                os.close(os.open(self.lock_path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
                return
            except FileExistsError:
                time.sleep(0.1)

    def unlock(self):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.lock_path)


class Ladder:
    def __init__(self, folder, skills, retire_after=5, k=24.0):
        self.retire_after = retire_after
        self.k = k
        self.rating = 1000.0
        self.entries = []
        for number, skill in enumerate(skills):
            entry = Entry(folder, f"partner_{number}")
            entry.create(skill)
            self.entries.append(entry)

    def record(self, number, score):
        """Changes both ratings after a match; a partner that lost every leg often enough in a row retires."""
        entry = self.entries[number]
        entry.lock()
        values = entry.read()
        if values["retired"]:
            return self.rating
        expected = 1 / (1 + 10 ** ((values["rating"] - self.rating) / 400))
        change = self.k * (score - expected)
        self.rating += change
        values["rating"] -= change
        values["matches"] += 1
        values["streak"] = values["streak"] + 1 if score == 1.0 else 0
        values["retired"] = values["streak"] >= self.retire_after
        entry.write(values)
        entry.unlock()
        return self.rating
