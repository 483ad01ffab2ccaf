"""Pure. Many ranks to few groups: the stack prefix tree and the collective frontiers."""
