"""Context exchange between neighbouring segments of a long recording."""
import torch
import torch.distributed as dist


def exchange_edges(x, width):
    """Return `x` extended by `width` samples of context on both sides.

    x is (batch, channels, length), the segment of this rank. The first and
    the last rank have only one neighbour and are padded with zeros on the
    outer side.
    """
    rank, world = dist.get_rank(), dist.get_world_size()
    left_halo = torch.zeros_like(x[..., :width]).contiguous()
    right_halo = torch.zeros_like(left_halo)

    neighbours = []
    if rank > 0:
        neighbours.append((rank - 1, x[..., :width].contiguous(), left_halo))
    if rank < world - 1:
        neighbours.append((rank + 1, x[..., -width:].contiguous(), right_halo))

    for peer, edge, halo in neighbours:
        dist.send(edge, dst=peer)
        dist.recv(halo, src=peer)

    return torch.cat([left_halo, x, right_halo], dim=-1)
