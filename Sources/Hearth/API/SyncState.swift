import Foundation
import HearthSync

/// What a continuous sync is doing.
public enum SyncState: Sendable, Equatable {
  /// It exchanges with the transports; the progress is that of the transfer that moved last.
  case syncing(SyncProgress?)
  /// Everything is exchanged, as far as transports answered; it waits for something to change.
  case idle
  /// No transport could be reached. It tries again then, or earlier if one of them is back.
  case offline(until: Date)
  /// The sync failed on this device, such as on a full disk. It tries again then.
  case failed(HearthError, until: Date)
}

/// How far a transfer over one transport is.
public struct SyncProgress: Sendable, Equatable {
  /// The folder or relay.
  public let address: NodeTransport.Address
  /// Whether this node receives; it gives otherwise.
  public let isReceiving: Bool
  /// The number of files that are transferred.
  public let files: Int
  /// The number of files that are expected so far; 0 if that is not known.
  public let expectedFiles: Int
  /// The number of encrypted bytes that are transferred.
  public let bytes: Int
  /// The number of encrypted bytes that are expected so far; 0 if that is not known.
  public let expectedBytes: Int

  init(_ progress: TransferProgress) {
    // A relay's progress names its host and port, a folder's its path.
    address = progress.place.hasPrefix("/") ? .folder(progress.place) : .relay(progress.place)
    isReceiving = progress.direction == .receiving
    (files, expectedFiles) = (progress.files, progress.expectedFiles)
    (bytes, expectedBytes) = (progress.bytes, progress.expectedBytes)
  }
}
