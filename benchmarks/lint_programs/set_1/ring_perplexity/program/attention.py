import torch


class Rotary:
    def __init__(self, head_dim, base=10000.0, device="cuda"):
        self.inv_freq = base ** (-torch.arange(0, head_dim, 2, device=device).float() / head_dim)

    def rotate_(self, x, start):
        """Rotate x (..., positions, head_dim), whose first position is `start`."""
        pos = torch.arange(start, start + x.size(-2), device=x.device).float()
        angle = pos[:, None] * self.inv_freq
        cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
        a, b = x.chunk(2, dim=-1)
        rotated = torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)
        return x.copy_(rotated)


def attend_block(q, kv, kv_start, rotary, causal):
    """Attention of all queries to one key/value block: output and log-sum-exp."""
    k, v = kv.unbind(0)
    k = rotary.rotate_(k, kv_start)
    scores = torch.matmul(q, k.transpose(-1, -2)).float() * q.size(-1) ** -0.5
    if causal:
        n = scores.size(-1)
        scores.masked_fill_(torch.ones(n, n, dtype=torch.bool, device=q.device).triu(1), float("-inf"))
    lse = scores.logsumexp(dim=-1, keepdim=True)
    return torch.matmul((scores - lse).exp().to(v.dtype), v).float(), lse


def ring_attention(q, kv, rotary, ring):
    """q (b, h, s, d) and kv (2, b, h, s, d) of this rank's tokens, not rotated yet."""
    s = q.size(2)
    q = rotary.rotate_(q, ring.rank * s)
    spare = torch.empty_like(kv)
    out = lse = None
    for step in range(ring.size):
        more = step + 1 < ring.size
        works = ring.shift(kv, spare) if more else []
        owner = ring.owner(step)
        if owner <= ring.rank:
            o, l = attend_block(q, kv, owner * s, rotary, causal=owner == ring.rank)
            if out is None:
                out, lse = o, l
            else:
                both = torch.logaddexp(lse, l)
                out = out * (lse - both).exp() + o * (l - both).exp()
                lse = both
        for w in works:
            w.wait()
        kv, spare = spare, kv
    return out.to(q.dtype)
