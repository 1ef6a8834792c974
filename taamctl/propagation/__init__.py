"""Products with S = D^-1/2 (A + I) D^-1/2: every S^k X of the package is computed here."""
