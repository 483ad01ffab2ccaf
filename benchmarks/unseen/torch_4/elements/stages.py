"""Named stages of a run: timing, and an orderly end on all processes."""
import contextlib
import logging
import time

import torch.distributed as dist

log = logging.getLogger(__name__)


@contextlib.contextmanager
def stage(name):
    started = time.perf_counter()
    try:
        yield
    finally:
        dist.barrier()
        log.info("%s took %.1f s", name, time.perf_counter() - started)
