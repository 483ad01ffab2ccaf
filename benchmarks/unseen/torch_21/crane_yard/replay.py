"""Replay memory of moves in the yard, filled by the learner and rated by a thread."""
import collections
import random
import threading
import time

import torch

Move = collections.namedtuple("Move", "state action reward after last")


class Replay:
    """All access to the moves is under one lock; `holder` says for the statistics who has it."""

    def __init__(self, capacity, horizon, seed):
        self.moves = collections.deque(maxlen=capacity)
        self.horizon = horizon
        self.random = random.Random(seed)
        self.ratings = {}
        self.holder = None
        self._mutex = threading.Lock()

    def lock(self, who):
        self._mutex.acquire()
        self.holder = who

    def unlock(self):
        self.holder = None
        self._mutex.release()

    def add(self, move):
        self.lock("add")
        self.moves.append(move)
        self.unlock()

    def uniform(self, count):
        self.lock("uniform")
        picked = self.random.choices(self.moves, k=count)
        self.unlock()
        return self.stack(picked)

    def recent(self, count):
        """A batch from the last `horizon` moves in which a job ended well, or None if there is no such move."""
        self.lock("recent")
        newest = list(self.moves)[-self.horizon :]
        good = [move for move in newest if move.reward > 0]
        if not good:
            return None
        picked = self.random.choices(good, k=count)
        self.unlock()
        return self.stack(picked)

    def rate(self):
        self.lock("rate")
        rewards = [move.reward for move in self.moves]
        self.unlock()
        if rewards:
            self.ratings = {"moves": len(rewards), "mean": sum(rewards) / len(rewards)}

    @staticmethod
    def stack(moves):
        states, actions, rewards, after, last = zip(*moves)
        return (
            torch.stack(states),
            torch.tensor(actions),
            torch.tensor(rewards, dtype=torch.float32),
            torch.stack(after),
            torch.tensor(last, dtype=torch.float32),
        )


def start_rating(replay, every):
    def loop():
        while True:
            replay.rate()
            time.sleep(every)

    thread = threading.Thread(target=loop, name="rating", daemon=True)
    thread.start()
    return thread
