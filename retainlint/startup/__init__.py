"""What makes starting cheap: records, patterns and imports that cost nothing until they are used."""
