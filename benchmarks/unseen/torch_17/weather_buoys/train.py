"""Waves from the measurements of buoys: local training in areas of the sea, and averages in between."""
import argparse
import copy
import tempfile
import time

import torch
import torch.distributed as dist
from torch import nn

from scaling import Shelf, measurements, scale_of

# the ships that read out the buoys, and where they are in each round
LOGBOOK = (
    (2, 7, 11, 4, 9, 14, 1, 17),
    (5, 3, 8, 12, 6, 15, 18, 20),
    (10, 13, 16, 19, 13, 21, 22, 23),
)


class Ship:
    def __init__(self, args, shelf):
        self.args = args
        self.shelf = shelf
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(args.inputs, args.width), nn.Tanh(), nn.Linear(args.width, 1))
        self.momentum = copy.deepcopy(self.model.state_dict())

    def area(self, number):
        places = LOGBOOK[self.rank % len(LOGBOOK)]
        return places[number % len(places)]

    def local(self, area):
        mean, spread = scale_of(area, self.shelf, self.args.inputs)
        data = (measurements(area, 1024, self.args.inputs) - mean) / spread
        waves = torch.sin(data[:, 0]) + 0.5 * data[:, 1] * data[:, 2]
        optimizer = torch.optim.SGD(self.model.parameters(), lr=self.args.lr, momentum=0.9)
        for step in range(self.args.steps):
            rows = slice(step * 16 % 1024, step * 16 % 1024 + 16)
            loss = nn.functional.mse_loss(self.model(data[rows])[:, 0], waves[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            time.sleep(self.args.pause)
        return loss.item()

    @torch.no_grad()
    def average(self):
        """One flat message for all weights, and a slow movement towards the mean of the ships."""
        flat = nn.utils.parameters_to_vector(self.model.parameters())
        dist.all_reduce(flat)
        nn.utils.vector_to_parameters(flat / self.world, self.model.parameters())
        for name, value in self.model.state_dict().items():
            self.momentum[name].lerp_(value, 0.5)
        self.model.load_state_dict(self.momentum)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--inputs", type=int, default=6)
    parser.add_argument("--width", type=int, default=24)
    parser.add_argument("--lr", type=float, default=0.02)
    parser.add_argument("--pause", type=float, default=0.03)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    folder = [tempfile.mkdtemp(prefix="buoys-") if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(folder, src=0)
    ship = Ship(args, Shelf(folder[0]))
    for number in range(args.rounds):
        loss = ship.local(ship.area(number))
        dist.barrier()  # a ship that is still out must not be surprised by the average
        ship.average()
        if ship.rank == 0:
            print(f"round {number}: area {ship.area(number)}, loss {loss:.4f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
