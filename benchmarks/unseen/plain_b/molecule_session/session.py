"""Life of the process group as a context manager."""
import contextlib
import logging
import time

import torch.distributed as dist

log = logging.getLogger("session")


@contextlib.contextmanager
def distributed_session(backend="gloo"):
    dist.init_process_group(backend)
    began = time.monotonic()
    try:
        yield dist.get_rank(), dist.get_world_size()
    finally:
        # nobody may tear the group down while another rank still sends
        dist.monitored_barrier()
        log.info("session of %.1f s", time.monotonic() - began)
        dist.destroy_process_group()
