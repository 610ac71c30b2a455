"""Charts over the time of a trial, and around an event."""
