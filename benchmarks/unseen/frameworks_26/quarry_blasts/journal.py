import os


class Journal:
    """What a process has done, a line for each entry, so that a shift can go on where the last one ended.

    Every process keeps a journal of its own; it is written at once, since a shift may end without notice.
    """

    def __init__(self, folder, process):
        os.makedirs(folder, exist_ok=True)
        self.path = os.path.join(folder, f"process_{process}.log")
        open(self.path, "w").close()

    def write(self, day, text):
        with open(self.path, "a") as out:
            out.write(f"day {day:03d} {text}\n")

    def step(self, day, step, loss):
        self.write(day, f"step {step} loss {loss:.4f}")

    def remark(self, day, text):
        self.write(day, f"remark {text}")

    def position(self, day):
        """How far this day's data have been worked through."""
        with open(self.path) as lines:
            return sum(line.startswith(f"day {day:03d}") for line in lines)
