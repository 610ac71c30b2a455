"""Two runs compared, and the gate that a comparison opens or shuts."""
