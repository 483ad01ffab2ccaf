import io
import os
import tempfile

import torch
import torch.distributed as dist


class CatalogPublisher:
    """Writes the table for the web front-end, which is mounted on one host only."""

    def __init__(self, table, host_rank, first, every=12):
        self.table = table
        self.host_rank = host_rank
        self.first = first
        self.every = every
        self.folder = tempfile.mkdtemp(prefix="catalog") if dist.get_rank() == host_rank else None

    def due(self, it):
        return it >= self.first and (it - self.first) % self.every == 0

    def after(self, it):
        if self.folder is None or not self.due(it):
            return
        blob = io.BytesIO()
        torch.save(self._snapshot(), blob)
        with open(os.path.join(self.folder, f"table-{it:05d}.pt"), "wb") as f:
            f.write(blob.getvalue())

    @torch.no_grad()
    def _snapshot(self):
        dense = self.table.detach().full_tensor()
        return {"rows": dense.shape[0], "embedding": dense.half()}
