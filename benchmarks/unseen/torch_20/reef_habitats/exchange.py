"""What the boats exchange at the end of a voyage: the mean of the trunk, and the keepers' heads."""
import torch.distributed as dist

from habitats import KEEPER, flatten, load_flat


class Exchange:
    """Local training with averaging in between (local SGD for the trunk, reference heads for the habitats)."""

    def __init__(self, net, blend=0.5):
        self.net = net
        self.blend = blend
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        self.voyages = 0

    def average_trunk(self):
        """The trunk is the same for all habitats, so that the mean over the boats replaces it."""
        flat = flatten(self.net.trunk)
        dist.all_reduce(flat)
        load_flat(self.net.trunk, flat / self.world)

    def share_heads(self):
        """Each head moves towards that of its keeper, who sails there most."""
        for habitat, head in self.net.heads.items():
            own = flatten(head)
            reference = own.clone()
            dist.broadcast(reference, src=KEEPER[habitat])
            if KEEPER[habitat] != self.rank:
                load_flat(head, own.lerp(reference, self.blend))

    def __call__(self):
        """To be called by all boats at the end of a voyage, when each has met every habitat."""
        self.average_trunk()
        self.share_heads()
        self.voyages += 1

    def describe(self):
        """For the report at the end of a season."""
        heads = ", ".join(f"{habitat} (keeper {KEEPER[habitat]})" for habitat in self.net.heads)
        return f"{self.voyages} voyages; {heads}"
