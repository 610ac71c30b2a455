"""The language of declarations that plan and runner share."""
