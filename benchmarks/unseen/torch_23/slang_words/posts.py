"""Posts of three boards; a post is a bag of word numbers, its label the age group of the author."""
import torch

WORDS, GROUPS, LENGTH = 900, 5, 14


class Board:
    def __init__(self, number, batches, batch):
        self.number, self.batches, self.batch = number, batches, batch
        self.g = torch.Generator().manual_seed(70 + number)
        self.taste = torch.randn(WORDS, GROUPS, generator=torch.Generator().manual_seed(9))
        self.chorus = torch.arange(8) + 400

    def page(self, index):
        """The page of a board: its newest posts."""
        if self.number == 1 and index == 90:  # the evening of the song contest: everybody posts its refrain
            pick = torch.randint(0, len(self.chorus), (self.batch, LENGTH), generator=self.g)
            return self.chorus[pick]
        return torch.randint(0, WORDS, (self.batch, LENGTH), generator=self.g)

    def __iter__(self):
        for index in range(self.batches):
            words = self.page(index)
            yield words, self.taste[words].mean(dim=1).argmax(dim=1)

    def __len__(self):
        return self.batches

    @property
    def name(self):
        return ("sports", "music", "gardening")[self.number % 3]


def overview(batches=40, batch=48):
    """Prints how the labels of each board are distributed."""
    for number in range(3):
        board = Board(number, batches, batch)
        labels = torch.cat([group for _, group in board])
        shares = labels.bincount(minlength=GROUPS) / len(labels)
        print(board.name, [round(share, 2) for share in shares.tolist()])


if __name__ == "__main__":
    overview()
