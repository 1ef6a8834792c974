"""What a method is, and how one is trained over a stream."""
