import torch
import torch.distributed as dist


class LogLoss:
    """Log loss and calibration over all ranks."""

    def __init__(self, device):
        # sum of losses, sum of predictions, sum of clicks, impressions
        self.totals = torch.zeros(4, dtype=torch.float64, device=device)

    def reset(self):
        self.totals.zero_()

    def update(self, logits, clicks):
        loss = torch.nn.functional.binary_cross_entropy_with_logits(
            logits, clicks, reduction="sum"
        )
        batch = torch.stack([
            loss, logits.sigmoid().sum(), clicks.sum(), torch.full_like(loss, clicks.numel()),
        ])
        self.totals += batch.detach().double()

    def compute(self):
        totals = self.totals
        if dist.is_initialized() and dist.get_world_size() > 1:
            dist.all_reduce(totals)
        loss, predicted, clicked, count = totals.tolist()
        return {
            "logloss": loss / max(count, 1),
            "calibration": predicted / max(clicked, 1),
            "impressions": int(count),
        }
