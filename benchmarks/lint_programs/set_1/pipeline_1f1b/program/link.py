import torch
import torch.distributed as dist


class StageLink:
    """Point-to-point traffic of a stage with its two neighbours.

    Activations go down the pipeline, their gradients come back up; both have `shape`.
    At the ends of the pipeline the missing neighbour is simply left out.
    """

    def __init__(self, shape, dtype=torch.float32):
        self.stage = dist.get_rank()
        self.stages = dist.get_world_size()
        self.first = self.stage == 0
        self.last = self.stage == self.stages - 1
        self.shape, self.dtype = shape, dtype

    def _buffer(self):
        return torch.empty(self.shape, dtype=self.dtype, device="cuda")

    def __call__(self, send_next=None, send_prev=None, recv_prev=False, recv_next=False):
        """Do the given transfers together; returns (from_prev, from_next)."""
        ops, from_prev, from_next = [], None, None
        if send_prev is not None and not self.first:
            ops.append(dist.P2POp(dist.isend, send_prev.contiguous(), self.stage - 1))
        if recv_prev and not self.first:
            from_prev = self._buffer()
            ops.append(dist.P2POp(dist.irecv, from_prev, self.stage - 1))
        if send_next is not None and not self.last:
            ops.append(dist.P2POp(dist.isend, send_next.contiguous(), self.stage + 1))
        if recv_next and not self.last:
            from_next = self._buffer()
            ops.append(dist.P2POp(dist.irecv, from_next, self.stage + 1))
        if ops:
            for work in dist.batch_isend_irecv(ops):
                work.wait()
        return from_prev, from_next
