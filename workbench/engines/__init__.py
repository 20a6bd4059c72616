"""Other engines behind one interface: ``audits`` judges their masks, ``lab.bench`` times them."""
