"""Batch plan of the subtitle corpus. Batches are bucketed by length, so the number of rows varies."""
MICRO_ROWS = 4
ROWS = (16, 12, 16, 8, 12)           # rows per bucket, repeating
UNTRANSLATED = {32: (1, 5, 6, 11)}   # batch -> rows with an empty target


class Manifest:
    def __init__(self, batches, drop_untranslated=False):
        self.batches, self.drop = batches, drop_untranslated

    def rows(self, k):
        n = ROWS[k % len(ROWS)]
        if self.drop:
            n -= len(UNTRANSLATED.get(k, ()))
        return n

    def __iter__(self):
        for k in range(self.batches):
            rows = self.rows(k)
            yield k, rows, rows // MICRO_ROWS
