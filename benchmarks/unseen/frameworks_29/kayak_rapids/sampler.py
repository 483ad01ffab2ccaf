"""Collects runs in the background while the learner computes gradients."""
import queue
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch

from river import River

STEPS = 10


class RunSampler:
    def __init__(self, number, policy, ahead=2):
        self.river = River(number)
        self.policy = policy
        self.ready = queue.Queue(maxsize=ahead)
        self.closed = False
        self.pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="river")
        self.task = self.pool.submit(self.collect)

    def collect(self):
        while not self.closed:
            self.put(self.one_run())

    def put(self, run):
        while not self.closed:
            try:
                return self.ready.put(run, timeout=0.5)
            except queue.Full:
                pass

    @torch.no_grad()
    def one_run(self):
        state, seen, chosen, rewards = self.river.reset(), [], [], []
        for _ in range(STEPS):
            logits = self.policy(torch.from_numpy(state)[None])
            action = int(torch.distributions.Categorical(logits=logits).sample())
            seen.append(state)
            chosen.append(action)
            state, reward = self.river.step(action)
            rewards.append(reward)
            time.sleep(0.04)            # physics of the real simulator
        gains = np.cumsum(rewards[::-1])[::-1].astype(np.float32)
        return torch.from_numpy(np.stack(seen)), torch.tensor(chosen), torch.from_numpy(gains.copy())

    def next(self):
        return self.ready.get()

    def close(self):
        self.closed = True
        self.pool.shutdown(wait=True)
