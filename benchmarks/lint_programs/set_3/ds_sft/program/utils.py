import functools
import logging
import sys

import torch.distributed as dist


def is_main():
    return not dist.is_initialized() or dist.get_rank() == 0


def main_process(fn):
    """Decorator: run on the main process, return None elsewhere."""

    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        if is_main():
            return fn(*args, **kwargs)
        return None

    return wrapper


def get_logger(name="sft"):
    log = logging.getLogger(name)
    if not log.handlers:
        log.addHandler(logging.StreamHandler(sys.stdout))
        log.setLevel(logging.INFO if is_main() else logging.ERROR)
    return log
