"""Tables: rows of texts with the numbers behind them."""
