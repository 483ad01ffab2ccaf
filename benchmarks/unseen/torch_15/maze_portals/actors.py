"""Actors play in a pool of threads and hand their episodes over in a queue, in whatever order they finish."""
import copy
import queue
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch

from maze import Maze


class Actors:
    def __init__(self, policy, threads=3, horizon=40):
        self.pool = ThreadPoolExecutor(threads, thread_name_prefix="actor")
        self.finished = queue.Queue()
        self.policy = policy
        self.frozen = copy.deepcopy(policy)
        self.horizon = horizon

    @torch.no_grad()
    def play(self, seed, portals):
        maze = Maze(seed, portals)
        random = np.random.default_rng(seed + 1)
        observations, moves, rewards = [], [], []
        for _ in range(self.horizon):
            view = maze.observe()
            chances = torch.softmax(self.frozen(torch.from_numpy(view)).double(), 0).numpy()
            move = int(random.choice(4, p=chances / chances.sum()))
            reward, done = maze.step(move)
            observations.append(view)
            moves.append(move)
            rewards.append(reward)
            if done:
                break
        self.finished.put((observations, moves, rewards))

    def collect(self, seeds, portals):
        """The episodes of all seeds, played with the weights of this moment."""
        self.frozen.load_state_dict(self.policy.state_dict())
        for seed in seeds:
            self.pool.submit(self.play, seed, portals)
        return [self.finished.get() for _ in seeds]

    def close(self):
        self.pool.shutdown()
