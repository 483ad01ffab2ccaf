"""Which reader takes which user."""


def bucket_of(user_id, n_buckets):
    return hash(user_id) % n_buckets


class UserPartition:
    """All events of a user go to one reader, so that histories stay whole."""

    def __init__(self, n_readers, reader):
        self.n_readers, self.reader = n_readers, reader

    def __contains__(self, user_id):
        return bucket_of(user_id, self.n_readers) == self.reader
