"""Episodes that were played, up to a number of moves."""
import dataclasses
import threading

import torch


@dataclasses.dataclass
class Episode:
    states: torch.Tensor
    moves: torch.Tensor
    returns: torch.Tensor

    def __len__(self):
        return len(self.moves)


class Replay:
    def __init__(self, policy, capacity):
        self.policy = policy
        self.capacity = capacity
        self.episodes = []
        self.moves = 0
        self.lock = threading.Lock()

    def add(self, episode):
        with self.lock:
            self.episodes.append(episode)
            self.moves += len(episode)
            if self.moves > self.capacity:
                self.forget()

    def forget(self):
        """Drops what the policy knows best by now, until the rest fits."""
        scores = [self.policy.surprise(e.states, e.returns) for e in self.episodes]
        order = sorted(range(len(scores)), key=scores.__getitem__, reverse=True)
        kept, moves = [], 0
        for index in order:
            if moves + len(self.episodes[index]) > self.capacity:
                break
            kept.append(self.episodes[index])
            moves += len(self.episodes[index])
        self.episodes, self.moves = kept, moves

    def draw(self, size):
        with self.lock:  # the other thread may be adding
            states = torch.cat([e.states for e in self.episodes])
            moves = torch.cat([e.moves for e in self.episodes])
            returns = torch.cat([e.returns for e in self.episodes])
        pick = torch.randint(0, len(moves), (size,))
        return states[pick], moves[pick], returns[pick]

    def ready(self, moves):
        with self.lock:
            return self.moves >= moves
