import queue
import threading
import time

import torch

from .env import Corridor


class Actor:
    """Plays a batch of episodes in the background for every version of the weights."""

    def __init__(self, make_policy, seed, episodes):
        self.policy = make_policy()
        self.env = Corridor(seed=seed)
        self.episodes = episodes
        self.generator = torch.Generator().manual_seed(seed)
        self.rollouts = queue.Queue()
        self.weights = queue.Queue()
        self.running = True
        self.thread = threading.Thread(target=self._play, name=f"actor-{seed}")

    def start(self):
        self.thread.start()

    def update(self, state):
        self.weights.put({k: v.clone() for k, v in state.items()})

    def stop(self):
        self.running = False

    def _play(self):
        while self.running:
            self.policy.load_state_dict(self.weights.get())
            self.rollouts.put([self.episode() for _ in range(self.episodes)])

    @torch.no_grad()
    def episode(self):
        obs, done, steps = self.env.reset(), False, []
        while not done:
            probs = self.policy(torch.tensor(obs)).softmax(-1)
            action = int(torch.multinomial(probs, 1, generator=self.generator))
            nxt, reward, done = self.env.step(action)
            steps.append((obs, action, reward))
            obs = nxt
        time.sleep(0.002)
        return steps
