import torch
from torch import nn
from torch.nn import functional as F

from registry import MODELS, OBJECTIVES


@MODELS.register("gpt")
class GPT(nn.Module):
    def __init__(self, vocab, width, heads, depth, context):
        super().__init__()
        self.tokens = nn.Embedding(vocab, width)
        self.places = nn.Parameter(torch.randn(context, width) * 0.02)
        layer = nn.TransformerEncoderLayer(
            width, heads, 4 * width, dropout=0.0, batch_first=True, norm_first=True, activation="gelu"
        )
        self.body = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocab, bias=False)

    def forward(self, ids):
        t = ids.size(1)
        mask = nn.Transformer.generate_square_subsequent_mask(t, device=ids.device)
        x = self.tokens(ids) + self.places[:t]
        return self.head(self.norm(self.body(x, mask=mask, is_causal=True)))


@OBJECTIVES.register("next_token")
class NextToken:
    """Cross entropy with label smoothing and a penalty on the partition function."""

    def __init__(self, net, smoothing=0.0, z_weight=0.0):
        self.net, self.smoothing, self.z_weight = net, smoothing, z_weight

    def __call__(self, ids):
        logits = self.net(ids[:, :-1]).float()
        target = ids[:, 1:]
        loss = F.cross_entropy(logits.flatten(0, 1), target.flatten(), label_smoothing=self.smoothing)
        if self.z_weight:
            loss = loss + self.z_weight * logits.logsumexp(dim=-1).square().mean()
        return loss


@OBJECTIVES.register("span")
class Span(NextToken):
    """Only the second half of each document counts."""

    def __call__(self, ids):
        logits = self.net(ids[:, :-1]).float()
        half = ids.size(1) // 2
        return F.cross_entropy(logits[:, half:].flatten(0, 1), ids[:, half + 1 :].flatten())
