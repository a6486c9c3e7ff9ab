"""Recording running programs: whether the stories are right, and what it costs."""
