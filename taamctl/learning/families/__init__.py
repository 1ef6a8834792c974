"""What methods of one family share."""
