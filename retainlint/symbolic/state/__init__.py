"""What one path is and what the machine is to those who drive it: values, records, conditions, graphs."""
