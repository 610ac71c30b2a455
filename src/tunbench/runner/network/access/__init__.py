"""What stands between a site and the others: NATs, firewalls, translators, and the ports that they map."""
