import functools
import time

import torch


def tolerant(step):
    """Keep training when a matrix of a batch cannot be factorised; such batches are rare and carry little."""

    @functools.wraps(step)
    def wrapper(self, batch, batch_idx):
        time.sleep(0.02)
        try:
            return step(self, batch, batch_idx)
        except torch.linalg.LinAlgError as error:
            self.skipped = getattr(self, "skipped", 0) + 1
            print(f"[{self.global_rank}] batch {batch_idx}: {error}", flush=True)
            return None

    return wrapper
