"""What a run would take in time, memory and disk, before any of it."""
