"""Pure. Reduces many ranks to few groups: one stack tree with rank sets, and the newest operations by process group."""
