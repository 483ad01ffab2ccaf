"""A model of the brightness of variable stars, from nights that the keepers fetch one after the other."""
import argparse
import os
import signal
import time

import torch
import torch.distributed as dist
from torch import nn

from calibration import Calibration, Diary
from watch import Archive, Board, Turn


class Notice:
    """A notice of the observatory comes to one keeper; all of them close the shutters in the same step."""

    def __init__(self):
        self.here = False
        signal.signal(signal.SIGUSR1, self.receive)

    def receive(self, number, frame):
        self.here = True

    def for_all(self):
        flag = torch.tensor([float(self.here)])
        dist.all_reduce(flag, op=dist.ReduceOp.MAX)
        self.here = False
        return bool(flag.item())


class Keeper:
    def __init__(self, args):
        self.args = args
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        self.turn, self.archive, self.board = Turn(self.world, self.rank), Archive(self.rank), Board()
        self.notice = Notice()
        torch.manual_seed(1)
        self.net = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=5e-3)
        self.scale = 1.0

    def step(self, night):
        loss = (self.net(night)[:, 0] * self.scale - night.square().mean(dim=1)).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        for parameter in self.net.parameters():
            dist.all_reduce(parameter.grad)
            parameter.grad /= self.world
        self.optimizer.step()

    def train(self, number, night):
        """Until the steps are done or a cloud is announced, which all keepers learn at the same time."""
        for step in range(self.args.steps):
            if self.rank == 2 and number == 1 and step == 8:
                os.kill(os.getpid(), signal.SIGUSR1)
            self.step(night)
            if step % 5 == 4 and self.notice.for_all():
                return step + 1
            time.sleep(0.02)
        return self.args.steps

    def calibrate(self, number):
        """Keeper 0 calibrates, the others read the result from the board."""
        if self.rank == 0:
            scale = Calibration(self.args.rest).run()
            self.board.write(f"scale/{number}", str(scale))
            self.scale = scale
        else:
            self.scale = float(self.board.read(f"scale/{number}", patience=1.5))

    def run(self):
        for number in range(self.args.nights):
            with self.turn:
                night = self.archive.request(number)
            steps = self.train(number, night)
            self.calibrate(number)
            if self.rank == 0:
                print(f"night {number}: {steps} steps, scale {self.scale}", flush=True)
        return self.archive.refused


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--nights", type=int, default=3)
    parser.add_argument("--steps", type=int, default=25)
    parser.add_argument("--rest", type=float, default=2.5)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    keeper = Keeper(args)
    diary = Diary() if keeper.rank == 1 else None
    refused = keeper.run()
    if diary is not None:
        diary.lines.extend(["shutters closed", f"refused {refused} times", "lamp cold", "good night", "door locked"])
        diary.close()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
