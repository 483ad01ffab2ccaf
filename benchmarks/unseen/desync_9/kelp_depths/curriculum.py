"""From clear water to stormy water."""


class Curriculum:
    """Which transects the model is ready for: the bound on their clutter rises with the steps taken."""

    def __init__(self, start=0.5, stop=1.0, steps=400):
        self.start, self.stop, self.steps = start, stop, steps
        self.taken, self.put_aside = 0, 0

    @property
    def bound(self):
        share = min(1.0, self.taken / self.steps)
        return self.start + share * (self.stop - self.start)

    def ready(self, transect):
        if transect.clutter <= self.bound:
            return True
        self.put_aside += 1
        return False

    def advance(self):
        self.taken += 1

    def __str__(self):
        return f"bound {self.bound:.2f}, {self.put_aside} put aside"
