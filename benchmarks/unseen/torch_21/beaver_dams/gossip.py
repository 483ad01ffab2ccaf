"""Averaging of models in pairs that are drawn anew in every round."""
import random

import torch
import torch.distributed as dist


class Site:
    """What a process knows of the others, and the generator with which it draws.

    All processes seed the generator alike, so that they draw the same pairs without sending each other anything.
    """

    def __init__(self, seed):
        self.rank = dist.get_rank()
        self.world = dist.get_world_size()
        self.draw = random.Random(seed)

    def partner(self):
        order = list(range(self.world))
        self.draw.shuffle(order)
        place = order.index(self.rank)
        return order[place ^ 1] if place ^ 1 < self.world else None


class Gossip:
    def __init__(self, model, site):
        self.model = model
        self.site = site
        self.meetings = [0] * site.world

    def pack(self):
        return torch.cat([p.detach().reshape(-1) for p in self.model.parameters()])

    @torch.no_grad()
    def unpack(self, flat):
        parts = flat.split([p.numel() for p in self.model.parameters()])
        for parameter, part in zip(self.model.parameters(), parts):
            parameter.copy_(part.view_as(parameter))

    def speak(self, partner, flat):
        dist.send(flat, dst=partner)

    def listen(self, partner, like):
        flat = torch.empty_like(like)
        dist.recv(flat, src=partner)
        return flat

    def meet(self):
        """Both partners leave with the mean of their weights. The one with the lower rank speaks first."""
        partner = self.site.partner()
        if partner is None:
            return None
        mine = self.pack()
        if self.site.rank < partner:
            self.speak(partner, mine)
            theirs = self.listen(partner, like=mine)
        else:
            theirs = self.listen(partner, like=mine)
            self.speak(partner, mine)
        self.unpack((mine + theirs) / 2)
        self.meetings[partner] += 1
        return partner
