"""What fits into memory at a time, and what is remembered of the past."""


def pieces(tracks, budget):
    """Cuts a list of tracks into pieces of at most `budget` padded positions.

    Positions are padded: a piece counts as many as its longest track has, times its tracks. The order is kept. A track
    that is longer than the budget is a piece of its own.
    """
    piece, longest = [], 0
    for track in tracks:
        longest_with = max(longest, len(track))
        if piece and longest_with * (len(piece) + 1) > budget:
            yield piece
            piece, longest_with = [], len(track)
        piece.append(track)
        longest = longest_with
    if piece:
        yield piece


class Running:
    """A weighted mean of numbers, with the newest ones counting most."""

    def __init__(self, keep=0.98):
        self.keep = keep
        self.total = 0.0
        self.weight = 0.0

    def add(self, value, weight):
        self.total = self.keep * self.total + value * weight
        self.weight = self.keep * self.weight + weight

    @property
    def mean(self):
        return self.total / max(self.weight, 1e-9)

    def __str__(self):
        return f"{self.mean:.4f}" if self.weight else "nothing yet"

    def __repr__(self):
        return f"Running({self}, keep={self.keep})"
