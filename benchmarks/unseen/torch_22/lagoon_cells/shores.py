"""Agreement of neighbouring cells at their common shores."""
import torch
import torch.distributed as dist


class Shores:
    """A process group for each pair of neighbours. Every process creates all of them, in the same order.

    Cells lie from west to east; shore `i` is that between cell `i` and the next one. The last shore closes the ring and
    is used only while the inlet between the last and the first cell is open.
    """

    def __init__(self):
        self.rank, self.cells = dist.get_rank(), dist.get_world_size()
        self.groups = [dist.new_group(sorted((cell, (cell + 1) % self.cells))) for cell in range(self.cells)]

    def west(self, inlet):
        if self.rank == 0 and not inlet:
            return None
        return self.groups[self.rank - 1]

    def east(self, inlet):
        if self.rank == self.cells - 1 and not inlet:
            return None
        return self.groups[self.rank]

    def agree(self, parameters, inlet):
        """Averages with the neighbour in the west, then with the one in the east."""
        for group in (self.west(inlet), self.east(inlet)):
            if group is not None:
                self.average(parameters, group)

    @staticmethod
    @torch.no_grad()
    def average(parameters, group):
        flat = torch.cat([parameter.flatten() for parameter in parameters])
        dist.all_reduce(flat, group=group)
        flat /= 2
        start = 0
        for parameter in parameters:
            parameter.copy_(flat[start:start + parameter.numel()].view_as(parameter))
            start += parameter.numel()
