"""What runs mean: pure functions over recorded runs."""
