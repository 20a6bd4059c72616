"""The product: page, command line, lessons, and the pipeline behind them."""
