"""Wind farms of an operator, and the regions in which they share what they have learned."""
import torch
import torch.distributed as dist


class Farm:
    def __init__(self, number, hours):
        g = torch.Generator().manual_seed(number)
        self.signals = torch.randn(hours, 16, generator=g)
        self.signals[:, 0] += 0.5 * number
        wear = self.signals[:, :4].sum(1) - self.signals[:, 5] * self.signals[:, 6]
        self.failing = (wear + 0.3 * torch.randn(hours, generator=g) > 1.5).float()

    def draw(self, size, g):
        rows = torch.randint(0, len(self.signals), (size,), generator=g)
        return self.signals[rows], self.failing[rows]


class Regions:
    """Farms of one region average their heads in addition to the shared body."""

    def __init__(self, plan):
        self.plan = plan
        self.group = None
        self.members = []

    def regroup(self, season):
        if season not in self.plan:
            return
        self.release()
        members = self.plan[season]
        if dist.get_rank() in members:
            self.group = dist.new_group(members)
            self.members = members

    def release(self):
        if self.group is not None:
            dist.destroy_process_group(self.group)
        self.group = None

    @torch.no_grad()
    def average(self, module):
        if self.group is None:
            return
        for parameter in module.parameters():
            dist.all_reduce(parameter, group=self.group)
            parameter /= len(self.members)
