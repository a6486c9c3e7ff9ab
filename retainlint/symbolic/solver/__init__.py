"""What a path knows of numbers and conditions, and whether they go together."""
