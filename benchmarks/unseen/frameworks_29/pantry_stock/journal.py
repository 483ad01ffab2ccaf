"""Writes the run's journal in a thread; the disk of the shop's server is slow."""
import queue
import threading
import time


class Journal:
    def __init__(self, path):
        self.path = path
        self.lines = queue.Queue()
        self.thread = threading.Thread(target=self.work, name="journal")
        self.thread.start()

    def write(self, line):
        self.lines.put(line)

    def work(self):
        with open(self.path, "a") as file:
            while (line := self.lines.get()) is not None:
                for letter in line + "\n":
                    file.write(letter)
                    time.sleep(0.01)
                file.flush()

    def close(self):
        self.lines.put(None)
        self.thread.join()
