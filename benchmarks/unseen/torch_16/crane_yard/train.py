"""Cranes learn to stack containers: a thread plays, the main thread learns, gradients are averaged over the yards."""
import argparse
import threading
import time

import torch
import torch.distributed as dist

from policy import MOVES, SLOTS, CranePolicy
from replay import Episode, Replay

SHIPS = (8, 8, 50, 7)


class Yard(threading.Thread):
    def __init__(self, rank, policy, replay, limit):
        super().__init__(name="yard", daemon=True)
        self.length = SHIPS[rank % len(SHIPS)]
        self.policy = policy
        self.replay = replay
        self.limit = limit
        self.generator = torch.Generator().manual_seed(rank)

    def play(self):
        """A ship: containers arrive, the crane picks a row for each. Level rows are good."""
        choose, rows = self.policy.player(), torch.zeros(MOVES)
        states, moves, rewards = [], [], []
        length = self.length + torch.randint(0, self.length // 2, (1,), generator=self.generator).item()
        for _ in range(length):
            state = torch.cat([rows - rows.mean(), torch.rand(SLOTS - MOVES, generator=self.generator)])
            move = choose(state)
            rows[move] += 0.5 + state[MOVES].item()
            states.append(state)
            moves.append(move)
            rewards.append(-rows.std().item())
            time.sleep(0.001)
        returns = torch.tensor(rewards).flip(0).cumsum(0).flip(0) / length
        return Episode(torch.stack(states), torch.stack(moves), returns)

    def run(self):
        for _ in range(self.limit):
            self.replay.add(self.play())
            time.sleep(0.05)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--updates", type=int, default=200)
    parser.add_argument("--capacity", type=int, default=800)
    parser.add_argument("--episodes", type=int, default=60)
    parser.add_argument("--width", type=int, default=64)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    policy = CranePolicy(args.width, lr=1e-3)
    replay = Replay(policy, args.capacity)
    yard = Yard(rank, policy, replay, args.episodes)
    yard.start()
    while not replay.ready(60):
        time.sleep(0.05)
    for update in range(args.updates):
        loss = policy.improve(replay, rounds=6, size=256)
        if update % 10 == 0:
            print(f"update {update}, yard {rank}: loss {loss:.3f}, {replay.moves} moves kept", flush=True)
        time.sleep(0.01)
    yard.join()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
