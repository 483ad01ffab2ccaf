"""Writes what a run wants to keep in a process of its own, so that training does not wait for the disk."""
import csv
import multiprocessing
import pathlib

CONTEXT = multiprocessing.get_context("fork")


def write_rows(path, queue, limit):
    """Writes rows until None comes, or until the file is full."""
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["step", "line", "delay", "state"])
        written = 0
        while True:
            row = queue.get()
            if row is None:
                return
            writer.writerow(row)
            written += 1
            if written == limit:
                file.write("# truncated\n")
                return


class Recorder:
    def __init__(self, directory, name, limit):
        self.path = pathlib.Path(directory) / f"{name}.csv"
        self.queue = CONTEXT.Queue()
        self.process = CONTEXT.Process(target=write_rows, args=(self.path, self.queue, limit))
        self.process.start()

    def keep(self, step, line, delay, state):
        self.queue.put((step, line, round(delay, 2), [round(x, 3) for x in state]))

    def close(self):
        """Ends the writer; returns the size of its file."""
        self.queue.put(None)
        self.process.join()
        return self.path.stat().st_size
