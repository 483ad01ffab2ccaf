"""GPipe over torch.distributed point-to-point operations, a stage per rank."""
import torch
import torch.distributed as dist
import torch.nn.functional as F


class Pipe:
    def __init__(self, module, dim, micro_batch, device):
        self.module, self.dim, self.micro_batch = module, dim, micro_batch
        self.device = device
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        self.first, self.last = self.rank == 0, self.rank == self.size - 1

    def _recv(self, src):
        buf = torch.empty(self.micro_batch, self.dim, device=self.device)
        dist.recv(buf, src)
        return buf

    def _input(self, x, grad):
        if self.first:
            return x
        act = self._recv(self.rank - 1)
        return act.requires_grad_(grad)

    def train_step(self, x, y):
        """One batch: all forwards, then all backwards. Loss on the last stage."""
        xs, ys = x.split(self.micro_batch), y.split(self.micro_batch)
        saved, total = [], torch.zeros((), device=self.device)
        for mx, my in zip(xs, ys):
            inp = self._input(mx, grad=True)
            out = self.module(inp)
            if self.last:
                out = F.cross_entropy(out, my, reduction="sum") / len(y)
                total += out.detach()
            else:
                dist.send(out.detach(), self.rank + 1)
            saved.append((inp, out))
        for inp, out in reversed(saved):
            if self.last:
                out.backward()
            else:
                out.backward(self._recv(self.rank + 1))
            if not self.first:
                dist.send(inp.grad, self.rank - 1)
        return total

    @torch.no_grad()
    def count_hits(self, x, y):
        hits = torch.zeros((), device=self.device)
        for mx, my in zip(x.split(self.micro_batch), y.split(self.micro_batch)):
            out = self.module(self._input(mx, grad=False))
            if self.last:
                hits += (out.argmax(1) == my).sum()
            else:
                dist.send(out, self.rank + 1)
        return hits
