"""What torch does to values."""
