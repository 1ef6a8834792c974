"""What a graph is like, what a run makes of it, and what to change, before anything is computed."""
