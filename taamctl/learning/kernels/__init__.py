"""Numerical parts that methods are made of."""
