import SimDisk
