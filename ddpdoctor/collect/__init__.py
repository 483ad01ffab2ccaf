"""Impure. One module per evidence source; each returns evidence or a Gap and never raises across its boundary."""
