import torch


def supervised_contrastive(z, y, bank, bank_y, own, temperature=0.1):
    """SupCon (Khosla et al. 2020) of the local anchors against the bank of all ranks.

    Clips that nobody has labelled carry -1 and are no anchors.
    """
    anchors = y >= 0
    if not anchors.any():
        return z.sum() * 0.0
    sim = z @ bank.T / temperature
    sim = sim.masked_fill(torch.nn.functional.one_hot(own, len(bank)).bool(), -1e4)
    log_p = sim - sim.logsumexp(dim=1, keepdim=True)
    pos = (y[:, None] == bank_y[None, :]).float()
    pos[torch.arange(len(y)), own] = 0
    per_anchor = -(log_p * pos).sum(1) / pos.sum(1).clamp(min=1)
    return per_anchor[anchors].mean()
