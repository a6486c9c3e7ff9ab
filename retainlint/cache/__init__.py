"""What earlier runs found and lowered, kept on the disk and trusted only while nothing has changed."""
