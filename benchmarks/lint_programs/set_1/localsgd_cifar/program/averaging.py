"""Bucketed parameter averaging for local SGD (Stich 2019, Lin et al. 2020)."""
import torch
import torch.distributed as dist
from torch._utils import _flatten_dense_tensors, _take_tensors, _unflatten_dense_tensors


class ParameterAverager:
    """Averages parameters and float buffers over all workers.

    launch() packs the tensors into buckets and starts the reductions, so that the
    host can prepare the next batch meanwhile; finish() puts the averages in place.
    """

    def __init__(self, module, bucket_mb=25):
        self.tensors = [p.data for p in module.parameters()]
        self.tensors += [b for b in module.buffers() if b.is_floating_point()]
        self.bucket_bytes = bucket_mb * 1024 * 1024
        self.world = dist.get_world_size()
        self.pending = []

    @torch.no_grad()
    def launch(self):
        assert not self.pending
        for bucket in _take_tensors(self.tensors, self.bucket_bytes):
            flat = _flatten_dense_tensors(bucket).div_(self.world)
            work = dist.all_reduce(flat, op=dist.ReduceOp.SUM, async_op=True)
            self.pending.append((work, flat, bucket))

    @torch.no_grad()
    def finish(self):
        for work, flat, bucket in self.pending:
            for dst, src in zip(bucket, _unflatten_dense_tensors(flat, bucket)):
                dst.copy_(src)
        self.pending.clear()
