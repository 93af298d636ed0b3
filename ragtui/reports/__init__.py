"""From results to text: pure functions."""
