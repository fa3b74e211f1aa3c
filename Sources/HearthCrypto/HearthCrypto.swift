// HearthCrypto
