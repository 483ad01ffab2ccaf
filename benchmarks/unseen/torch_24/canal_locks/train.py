"""Policy for lock keepers: one learner, and keepers that play days at their own flights and send them in."""
import argparse
import time

import torch
import torch.distributed as dist
from torch import nn

import wire
from canal import ACTIONS, STATE, WEATHER, Flight


def policy():
    torch.manual_seed(6)
    return nn.Sequential(nn.Linear(STATE, 24), nn.Tanh(), nn.Linear(24, ACTIONS))


class Keeper:
    def __init__(self, rank, args):
        self.flight = Flight(WEATHER[rank], seed=rank)
        self.model = policy()
        self.args = args
        self.g = torch.Generator().manual_seed(30 + rank)

    @torch.no_grad()
    def day(self):
        rows = []
        over = not self.flight.open_day()
        while not over:
            state = self.flight.state()
            action = torch.multinomial(self.model(state).softmax(0), 1, generator=self.g).item()
            reward, over = self.flight.work(action)
            rows.append(torch.cat([state, torch.tensor([float(action), reward])]))
        time.sleep(self.args.pause)
        return rows

    def run(self):
        for _ in range(self.args.rounds):
            wire.receive_weights(self.model)
            wire.send_episodes([self.day() for _ in range(self.args.days)])


class Learner:
    def __init__(self, keepers, args):
        self.model = policy()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=args.lr)
        self.keepers = keepers
        self.args = args

    def improve(self, episodes):
        loss, total = 0.0, 0.0
        for rows in episodes:
            state, action, reward = rows[:, :STATE], rows[:, STATE].long(), rows[:, STATE + 1]
            to_go = reward.flip(0).cumsum(0).flip(0)
            log_prob = self.model(state).log_softmax(1).gather(1, action[:, None])[:, 0]
            loss = loss - ((to_go - to_go.mean()) * log_prob).mean()
            total += reward.sum().item()
        self.optimizer.zero_grad()
        (loss / len(episodes)).backward()
        self.optimizer.step()
        return total / len(episodes)

    def run(self):
        for number in range(self.args.rounds):
            wire.send_weights(self.model, self.keepers)
            episodes = []
            for keeper in self.keepers:
                episodes += wire.receive_episodes(keeper)
            mean = self.improve(episodes)
            if number % 5 == 0:
                print(f"round {number}: {mean:.3f} from {len(episodes)} days", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--days", type=int, default=3)
    parser.add_argument("--lr", type=float, default=5e-3)
    parser.add_argument("--pause", type=float, default=0.15)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    actor = Learner(list(range(1, world)), args) if rank == wire.LEARNER else Keeper(rank, args)
    actor.run()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
