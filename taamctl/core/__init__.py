"""Vocabulary: types, errors, registry, seeding. NumPy and torch only, no input or output."""
