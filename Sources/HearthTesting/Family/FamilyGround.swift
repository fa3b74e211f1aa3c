import Foundation
import Hearth
import Synchronization

/// What the members of a family share.
final class FamilyGround: Sendable {
  /// The name of the family's zone.
  static let zoneName = "Family"

  let app: AppSchema
  let folder: TemporaryFolder
  let network: FolderNetwork
  let clock = FamilyClock()
  private let known = Mutex<Key<HearthZone>?>(nil)

  init(_ app: AppSchema, seed: UInt64) throws {
    self.app = app
    folder = try TemporaryFolder()
    network = FolderNetwork(seed: seed)
    try FileManager.default.createDirectory(
      atPath: sharedFolder, withIntermediateDirectories: false)
  }

  /// The zone that the family shares; nil before there is one.
  var zone: Key<HearthZone>? {
    get { known.withLock { $0 } }
    set { known.withLock { $0 = newValue } }
  }

  /// The path by which nodes know the family's folder.
  var sharedFolder: String { folder.path + "/shared" }
}
