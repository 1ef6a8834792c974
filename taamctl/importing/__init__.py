"""A user's own graph in many formats -> one canonical graph, read right or asked about."""
