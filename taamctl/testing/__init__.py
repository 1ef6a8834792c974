"""The contract of a method as checks, and a new method to start from."""
