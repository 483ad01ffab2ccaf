import torch
import torch.distributed as dist


class Population:
    """Splits the job into members; the ranks of one member train one model together."""

    def __init__(self, members):
        world, self.rank = dist.get_world_size(), dist.get_rank()
        assert world % members == 0, "ranks must divide by the population"
        self.members, self.size = members, world // members
        self.index = self.rank // self.size
        groups = [
            dist.new_group(list(range(m * self.size, (m + 1) * self.size))) for m in range(members)
        ]
        self.group = groups[self.index]
        self.member_rank = self.rank % self.size

    @property
    def is_leader(self):
        return self.member_rank == 0

    def leader_of(self, member):
        return member * self.size

    def share(self, value, device):
        """The leader's value, on every rank of the member."""
        t = torch.tensor([float(value)], dtype=torch.float64, device=device)
        dist.broadcast(t, src=0, group=self.group)
        return t.item()

    def mean(self, total, count):
        """Mean over the member's ranks from sums and counts."""
        t = torch.stack([total, count])
        dist.all_reduce(t, group=self.group)
        return t[0] / t[1]

    def scores(self, own):
        """One score for each member, the same list on all ranks."""
        out = [torch.zeros_like(own) for _ in range(dist.get_world_size())]
        dist.all_gather(out, own)
        return torch.stack(out)[:: self.size].tolist()

    @torch.no_grad()
    def copy_weights(self, model, winner, loser):
        """All ranks take part; only those of the loser keep what they receive."""
        for p in model.parameters():
            buf = p.detach().clone()
            dist.broadcast(buf, src=self.leader_of(winner))
            if self.index == loser:
                p.copy_(buf)
