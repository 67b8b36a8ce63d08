"""dpviz: see what differential privacy costs and buys."""
