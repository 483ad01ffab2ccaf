import torch.distributed as dist


def is_main():
    return dist.get_rank() == 0


def gather(obj, dst=0):
    out = [None] * dist.get_world_size() if dist.get_rank() == dst else None
    dist.gather_object(obj, out, dst=dst)
    return out if out is not None else []


def broadcast(obj, src=0):
    box = [obj]
    dist.broadcast_object_list(box, src=src)
    return box[0]
