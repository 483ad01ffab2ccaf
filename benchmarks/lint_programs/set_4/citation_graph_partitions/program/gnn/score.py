import torch


class LeaderScore:
    def __init__(self, topo, comm):
        self.topo, self.comm = topo, comm

    @torch.no_grad()
    def __call__(self, model, part, device):
        """Accuracy on the held-out nodes of all partitions (None on other ranks than leaders)."""
        if not self.topo.is_leader:
            return None
        model.eval()
        logits = model(part.x.to(device), part.adj.to(device))
        ok = logits.argmax(1).cpu() == part.y
        right, count = ok[part.test].sum().item(), int(part.test.sum())
        right, count = self.comm.sum([right, count])
        return right / count
