import torch
from torch import nn
from torch.nn import functional as F


class IntentModel(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.embed = nn.Embedding(cfg.vocab, cfg.width, padding_idx=0)
        self.pos = nn.Parameter(torch.zeros(1, cfg.max_len, cfg.width))
        layer = nn.TransformerEncoderLayer(cfg.width, 4, 4 * cfg.width, dropout=0.1,
                                           batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, cfg.layers, enable_nested_tensor=False)
        self.head = nn.Linear(cfg.width, cfg.n_intents)

    def forward(self, input_ids, labels=None):
        pad = input_ids.eq(0)
        h = self.encoder(self.embed(input_ids) + self.pos, src_key_padding_mask=pad)
        keep = (~pad).unsqueeze(-1).to(h.dtype)
        pooled = (h * keep).sum(1) / keep.sum(1)
        logits = self.head(pooled)
        loss = None if labels is None else F.cross_entropy(logits, labels)
        return loss, logits


def linear_with_warmup(optimizer, total_steps, warmup_ratio):
    warmup = max(1, int(total_steps * warmup_ratio))

    def factor(step):
        if step < warmup:
            return step / warmup
        return max(0.0, (total_steps - step) / max(1, total_steps - warmup))

    return torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
