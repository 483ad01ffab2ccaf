"""Gestures from a glove with bend sensors; four processes on each host."""

import argparse
import datetime
import os
import tempfile

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from topology import LeaderChannel, Topology


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--recordings", type=int, default=2000)
    parser.add_argument("--sensors", type=int, default=15)
    parser.add_argument("--frames", type=int, default=20)
    parser.add_argument("--gestures", type=int, default=8)
    parser.add_argument("--per-host", type=int, default=int(os.environ.get("PROCS_PER_HOST", 4)))
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=5)
    return parser.parse_args()


def recordings(args):
    g = torch.Generator().manual_seed(12)
    gesture = torch.randint(0, args.gestures, (args.recordings,), generator=g)
    shapes = torch.randn(args.gestures, args.frames, args.sensors, generator=g)
    return TensorDataset(
        shapes[gesture] + torch.randn(args.recordings, args.frames, args.sensors, generator=g), gesture
    )


class GestureNet(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.rnn = nn.GRU(args.sensors, 32, batch_first=True)
        self.head = nn.Linear(32, args.gestures)

    def forward(self, frames):
        _, last = self.rnn(frames)
        return self.head(last[0])


class Session:
    def __init__(self, args):
        self.args = args
        self.topology = Topology(dist.get_rank(), dist.get_world_size(), args.per_host)
        self.channel = LeaderChannel(self.topology)
        # saving may take longer than a step is allowed to
        self.patient = dist.new_group(timeout=datetime.timedelta(hours=2))
        data = recordings(args)
        self.sampler = DistributedSampler(data)
        self.loader = DataLoader(data, args.batch, sampler=self.sampler)
        self.model = DistributedDataParallel(GestureNet(args))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=2e-3)

    def epoch(self, number):
        self.sampler.set_epoch(number)
        correct = torch.zeros(2)
        for frames, gesture in self.loader:
            logits = self.model(frames)
            loss = nn.functional.cross_entropy(logits, gesture)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            correct += torch.tensor([(logits.argmax(1) == gesture).sum().item(), len(gesture)])
        return self.channel.sum(correct)

    def save(self, folder):
        if self.topology.rank == 0:
            torch.save(self.model.module.state_dict(), os.path.join(folder, "gestures.pt"))
        dist.barrier(group=self.patient)

    def run(self):
        with tempfile.TemporaryDirectory() as folder:
            for number in range(self.args.epochs):
                correct, seen = self.epoch(number).tolist()
                if self.topology.is_leader:
                    print(f"epoch {number} accuracy {correct / seen:.3f}", flush=True)
                self.save(folder)


if __name__ == "__main__":
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    Session(parse()).run()
    dist.barrier()
    dist.destroy_process_group()
