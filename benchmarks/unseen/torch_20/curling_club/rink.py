"""A sheet of ice. A stone's place is its distance from the button, along the sheet."""
import torch

# stones of an end, of both sides together
STONES = 8
# of a game, and at most after it
ENDS = 8
EXTRA_ENDS = 24


class Sheet:
    """Keen ice in the first weeks; one of the sheets is used for the children's course later and frosts over."""

    def __init__(self, number):
        self.number = number
        self.game = 0  # the first one is game 1
        self.g = torch.Generator().manual_seed(40 + number)

    def __repr__(self):
        return f"Sheet({self.number}, game {self.game}, friction {self.friction():.1f})"

    def begin(self):
        """The sheet is swept before each game."""
        self.game += 1

    def friction(self):
        """What the ice takes from the weight of a stone."""
        return 6.0 if self.number % 3 == 1 and self.game > 60 else 0.0

    def observe(self):
        """What the skip sees: three signs that say little, and how slow the ice is."""
        return torch.cat([torch.randn(3, generator=self.g), torch.tensor([self.friction() / 5])])

    def throw(self, weight):
        """Where a stone comes to rest that was thrown with the given weight."""
        return weight - self.friction() + 0.3 * torch.randn((), generator=self.g).item()

    def opponent(self):
        """A stone of the other side, which plays on the same ice and does not learn."""
        return 0.9 * torch.randn((), generator=self.g).item() - self.friction()
