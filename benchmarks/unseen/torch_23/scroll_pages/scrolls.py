"""Three scrolls, as scanned: columns with lines of writing that are bent at their edges."""
import torch

HEIGHT, WIDTH = 24, 16


class Scroll:
    def __init__(self, number, columns):
        self.number = number
        self.columns = columns

    def __len__(self):
        return self.columns

    def is_blank(self, index):
        # the scribe of scroll 1 left a column free between two books
        return self.number == 1 and index == 75

    def column(self, index):
        if self.is_blank(index):
            return torch.zeros(HEIGHT, WIDTH, dtype=torch.float64)
        g = torch.Generator().manual_seed(500 * self.number + index)
        lines = torch.zeros(HEIGHT, WIDTH, dtype=torch.float64)
        lines[4::6] = torch.rand(len(range(4, HEIGHT, 6)), WIDTH, generator=g, dtype=torch.float64) + 0.2
        return lines.roll(int(torch.randint(-2, 3, (1,), generator=g)), dims=0)

    def sheet(self, first, count):
        """Columns side by side, as a reader of the unrolled scroll sees them."""
        last = min(first + count, self.columns)
        return torch.cat([self.column(index) for index in range(first, last)], dim=1)


def overview(columns=12):
    for number in range(3):
        sheet = Scroll(number, columns).sheet(0, columns)
        print(f"scroll {number}: {sheet.shape[1]} pixels, brightness {sheet.mean():.3f}")


if __name__ == "__main__":
    overview()
