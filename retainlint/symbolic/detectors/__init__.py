"""What is told of what the machine did: graphs reused, changed, kept, and calls that don't do what they seem to."""
