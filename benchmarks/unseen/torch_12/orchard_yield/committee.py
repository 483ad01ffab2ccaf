"""A committee of ranks averages its weights on its own; it changes when a rank falls behind."""
import torch
import torch.distributed as dist


class Committee:
    def __init__(self, patience, margin):
        self.patience = patience
        self.margin = margin
        self.members = list(range(dist.get_world_size()))
        self.group = dist.group.WORLD
        self.behind = [0] * dist.get_world_size()

    @property
    def is_member(self):
        return dist.get_rank() in self.members

    def review(self, losses):
        """Called with the losses of all ranks; returns whether the committee has changed."""
        median = sorted(losses)[len(losses) // 2]
        for rank, loss in enumerate(losses):
            self.behind[rank] = self.behind[rank] + 1 if loss > self.margin * median else 0
        stay = [rank for rank in self.members if self.behind[rank] < self.patience]
        if stay == self.members:
            return False
        self.members = stay
        if self.is_member:
            self.group = dist.new_group(stay)
        return True

    @torch.no_grad()
    def average(self, model):
        if not self.is_member:
            return
        for p in model.parameters():
            dist.all_reduce(p.data, group=self.group)
            p.data /= len(self.members)
