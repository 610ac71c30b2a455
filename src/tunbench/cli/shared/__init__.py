"""What several commands share: options, and what they do alike."""
