import logging
import queue
import threading
from pathlib import Path

import torch
import torch.distributed as dist

logger = logging.getLogger(__name__)


class ShardWriter:
    """Writes one file per rank and, when all files are there, moves the LATEST mark."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.rank = dist.get_rank()
        self._jobs = queue.Queue(maxsize=1)
        self._error = None
        self._thread = threading.Thread(target=self._loop, name="shard-writer", daemon=True)
        self._thread.start()

    def submit(self, step, state):
        if self._error is not None:
            raise RuntimeError("shard writer failed") from self._error
        self._jobs.put((step, state))

    def close(self):
        self._jobs.put(None)
        self._thread.join()
        if self._error is not None:
            raise RuntimeError("shard writer failed") from self._error

    def _loop(self):
        while True:
            job = self._jobs.get()
            if job is None:
                return
            if self._error is not None:
                continue
            try:
                self._write(*job)
            except BaseException as e:
                logger.exception("writing step %d", job[0])
                self._error = e

    def _write(self, step, state):
        target = self.folder / f"step{step:07d}"
        target.mkdir(parents=True, exist_ok=True)
        torch.save(state, target / f"rank{self.rank:04d}.pt")
        dist.barrier()
        if self.rank == 0:
            mark = self.folder / "LATEST.new"
            mark.write_text(target.name)
            mark.replace(self.folder / "LATEST")
            logger.info("checkpoint %s complete", target)


def latest(folder, rank):
    mark = Path(folder) / "LATEST"
    if not mark.exists():
        return None
    return Path(folder) / mark.read_text().strip() / f"rank{rank:04d}.pt"
