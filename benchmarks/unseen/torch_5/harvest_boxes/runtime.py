import functools
import logging

import torch.distributed as dist

log = logging.getLogger("harvest")


def tolerant(limit, errors=(ValueError, KeyError)):
    """Let a method fail a few times before its error counts."""

    def wrap(method):
        failures = 0

        @functools.wraps(method)
        def call(*args, **kwargs):
            nonlocal failures
            try:
                return method(*args, **kwargs)
            except errors as error:
                failures += 1
                log.warning("%s: %s (%d of %d)", method.__name__, error, failures, limit)
                if failures > limit:
                    raise
                return None

        return call

    return wrap


def average_gradients(module):
    world = dist.get_world_size()
    for parameter in module.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad /= world


def gather_floats(value):
    rows = [None] * dist.get_world_size()
    dist.all_gather_object(rows, value)
    return rows
