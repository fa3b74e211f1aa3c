// HearthSync
