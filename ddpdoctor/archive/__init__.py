"""What a dead job left behind: find the files, tell what they are, read them, put them together as Evidence.

Impure are `find` and `pool` only; readers are functions of bytes and a name.
"""
