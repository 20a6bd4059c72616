"""What one visitor can do to the others on a public page."""
