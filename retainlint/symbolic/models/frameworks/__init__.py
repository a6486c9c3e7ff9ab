"""What libraries around torch do to values, and whom they call."""
