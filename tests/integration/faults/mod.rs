//! Faults from outside: connections, disks, signals, clocks and windows that fail (I2, I7, I8, I12, I13, I15).
