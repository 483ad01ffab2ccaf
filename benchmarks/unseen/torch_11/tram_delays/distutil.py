import torch.distributed as dist


def is_main():
    return dist.get_rank() == 0


def gather_rows(rows):
    """The rows of all processes, in the order of their ranks."""
    parts = [None] * dist.get_world_size()
    dist.all_gather_object(parts, rows)
    return [row for part in parts for row in part]
