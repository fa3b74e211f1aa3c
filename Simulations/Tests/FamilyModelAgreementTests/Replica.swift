import Household
import TestSupport

/// One device's records and rows, kept by the real merge and the real projection.
typealias Replica = MemoryReplica

/// One change as it travels.
typealias Change = ReplicaChange
