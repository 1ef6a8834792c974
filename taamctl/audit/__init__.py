"""The leak audit: proofs that training sees training nodes only."""
