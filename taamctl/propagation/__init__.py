"""S^k X: the operator, its backends, in memory, on the disk, and differentiable."""
