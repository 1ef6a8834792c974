"""Give a graph back in the formats that other programmes read."""
