import multiprocessing
import os
import time


def _judge(games, parent):
    """Plays all recorded openings against each other, again and again, as long as the trainer lives."""
    table = {}
    turn = 0
    while os.getppid() == parent:
        a, b = games[turn % len(games)], games[(turn * 7 + 3) % len(games)]
        key = (a["opening"], b["opening"])
        table[key] = table.get(key, 0) + (1 if sum(a["moves"]) > sum(b["moves"]) else -1)
        turn += 1
        time.sleep(0.1)


class Referee:
    def __init__(self, book):
        self.book = book
        self.process = None

    def start(self):
        ctx = multiprocessing.get_context("fork")
        with self.book.locked():
            games = self.book.read()
            self.process = ctx.Process(target=_judge, args=(games, os.getpid()), daemon=True)
            self.process.start()

    def stop(self):
        if self.process is not None:
            self.process.terminate()
            self.process.join()
