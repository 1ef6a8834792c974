"""A graph replayed in time: predict what arrives, then learn it."""
