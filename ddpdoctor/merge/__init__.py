"""Pure. Many ranks become few groups: one stack tree with rank sets, frontiers by process group."""
