// HearthCRDT
