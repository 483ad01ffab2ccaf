import random

import torch
import torch.distributed as dist
from torch import nn

from clients import Client


class Federation:
    """Clients are simulated by the ranks: each trains its part of a round's choice."""

    def __init__(self, cfg, net, device):
        self.cfg, self.net, self.device = cfg, net, device
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        self.rng = random.Random(cfg["seed"] + self.rank)

    def choose(self):
        """The server (rank 0) draws the clients of this round."""
        chosen = self.rng.sample(range(self.cfg["clients"]), self.cfg["per_round"])
        dist.broadcast_object_list([chosen], src=0, device=self.device)
        return chosen

    def round(self):
        chosen = self.choose()
        start = nn.utils.parameters_to_vector(self.net.parameters()).detach()
        total = torch.zeros_like(start)
        weight = torch.zeros(1, device=self.device)
        for number in chosen[self.rank :: self.world]:
            client = Client(number, self.cfg)
            total += len(client) * client.train(self.net, self.device)
            weight += len(client)
        dist.all_reduce(total)
        dist.all_reduce(weight)
        nn.utils.vector_to_parameters(total / weight, self.net.parameters())

    @torch.no_grad()
    def accuracy(self):
        tally = torch.zeros(2, device=self.device)
        for number in range(self.rank, self.cfg["clients"], self.world):
            client = Client(number, self.cfg)
            hits = (self.net(client.x.to(self.device)).argmax(dim=1).cpu() == client.y).sum().item()
            tally += torch.tensor([hits, len(client)], device=self.device)
        dist.all_reduce(tally)
        return (tally[0] / tally[1]).item()
