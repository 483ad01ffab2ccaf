"""Plays episodes in the background, so that the learner does not wait for the boat."""
import queue
from concurrent.futures import ThreadPoolExecutor

import torch

from lagoon import Lagoon


class Actor:
    def __init__(self, policy, pier, length=8):
        self.policy, self.length = policy, length
        self.lagoon = Lagoon(pier, seed=pier)
        self.episodes = queue.Queue(maxsize=4)
        self.stopped = False
        self.pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="actor")
        self.pool.submit(self._play)

    def _play(self):
        while not self.stopped:
            state = self.lagoon.reset()
            states, strokes, rewards = [], [], []
            for _ in range(self.length):
                with torch.no_grad():
                    mean = self.policy(torch.tensor([state]))[0, 0]
                stroke = float(torch.normal(mean, 0.3))
                states.append(state)
                state, reward = self.lagoon.step(stroke)
                strokes.append(stroke)
                rewards.append(reward)
            self.episodes.put((torch.tensor(states), torch.tensor(strokes), sum(rewards)))

    def episode(self):
        return self.episodes.get()

    def close(self):
        self.stopped = True
        while not self.episodes.empty():
            self.episodes.get_nowait()
        self.pool.shutdown()
