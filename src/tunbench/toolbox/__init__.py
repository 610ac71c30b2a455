"""The toolbox: programs that Debian lacks, from their package registries or from the user, as images for the labs."""
