"""Memory bank of embeddings: negatives for the contrastive loss from the albums of all processes."""
import torch
import torch.distributed as dist


class MemoryBank:
    """Embeddings of reference stamps.

    Refreshed at regular intervals, and as soon as they have gone stale: when too few queries find their own
    reference among them.
    """

    def __init__(self, references, floor, every):
        self.references = references
        self.floor = floor
        self.every = every
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        self.entries = None
        self.recall = 1.0
        self.refreshes = 0

    @torch.no_grad()
    def refresh(self, encoder):
        own = encoder(self.references)
        everyone = [torch.empty_like(own) for _ in range(self.world)]
        dist.all_gather(everyone, own)
        self.entries = torch.cat(everyone)
        self.recall = 1.0
        self.refreshes += 1

    def due(self, step):
        return self.entries is None or step % self.every == 0

    def is_stale(self):
        return self.recall < self.floor

    @torch.no_grad()
    def observe(self, similarity, target):
        found = (similarity.argmax(1) == target).float().mean().item()
        self.recall = 0.9 * self.recall + 0.1 * found

    def positions(self, index):
        return index + self.rank * len(self.references)
