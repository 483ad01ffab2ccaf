"""Simulated dockings, played by a thread that is one trajectory ahead of the learner."""
import queue
import threading

import torch

WINDS = (0.0, 0.5, 1.0, 1.5)


class Harbour:
    """A boat with position and speed; the tide table gives the depth at each hour of the exercise."""

    def __init__(self, seed, tides):
        self.g = torch.Generator().manual_seed(seed)
        self.tides = tides

    def reset(self, hour):
        self.depth = next(depth for until, depth in self.tides if hour < until)
        self.wind = WINDS[int(torch.randint(0, 4, (1,), generator=self.g))]
        self.state = torch.randn(3, generator=self.g)
        return self.observe()

    def observe(self):
        return torch.cat([self.state, torch.tensor([self.wind, self.depth])])

    def step(self, action):
        push = (action - 1) * 0.3
        drift = 0.05 * self.wind / self.depth
        self.state[1] = 0.9 * self.state[1] + push + drift
        self.state[0] += 0.2 * self.state[1]
        self.state[2] = 0.8 * self.state[2] + 0.1 * torch.randn(1, generator=self.g).item()
        return self.observe(), -abs(self.state[0].item()) - 0.1 * abs(push)


class Player:
    def __init__(self, policy, harbour, steps, hours_per_game):
        self.policy = policy
        self.harbour = harbour
        self.steps = steps
        self.hours_per_game = hours_per_game
        self.games = queue.Queue(maxsize=2)
        self.thread = threading.Thread(target=self._play, name="player", daemon=True)

    def start(self):
        self.thread.start()

    def game(self, hour):
        observation = self.harbour.reset(hour)
        observations, actions, rewards = [], [], []
        for _ in range(self.steps):
            with torch.no_grad():
                probabilities = torch.softmax(self.policy(observation[None]), -1)[0]
            action = int(torch.multinomial(probabilities, 1, generator=self.harbour.g))
            observations.append(observation)
            observation, reward = self.harbour.step(action)
            actions.append(action)
            rewards.append(reward)
        return torch.stack(observations), torch.tensor(actions), torch.tensor(rewards)

    def _play(self):
        hour = 0.0
        while True:
            self.games.put(self.game(hour))
            hour += self.hours_per_game

    def next(self):
        return self.games.get()
