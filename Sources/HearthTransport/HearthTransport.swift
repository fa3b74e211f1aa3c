// HearthTransport
