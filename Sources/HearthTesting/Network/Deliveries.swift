/// What goes wrong between the devices of a family.
///
/// The family's folder is one that a program brings from device to device, file by file. Which
/// deliveries are concerned follows from the family's seed and the order of calls.
public struct Deliveries: Sendable {
  let network: FolderNetwork

  /// Every n-th delivery does not arrive when it should, but when its person syncs again; 0 for
  /// none, 1 for no delivery at all.
  public func lose(everyNth count: Int) { network.change { $0.losing = max(0, count) } }

  /// Each delivery arrives up to a number of syncs late, and so out of order.
  public func delay(upToSyncs count: Int) { network.change { $0.delay = max(0, count) } }

  /// Every n-th file that somebody removed comes back to the others; 0 for none.
  ///
  /// Nodes remove small files that larger ones replace, so their content is delivered again.
  public func repeatRemoved(everyNth count: Int) {
    network.change { $0.returning = max(0, count) }
  }

  /// Every n-th call of a node to its folder fails; 0 for none.
  ///
  /// The failure is one of the problems of a ``/Hearth/SyncResult``.
  public func fail(everyNth count: Int) { network.change { $0.failing = max(0, count) } }

  /// Lets every delivery arrive when it should.
  public func repair() {
    network.change {
      ($0.losing, $0.delay, $0.returning, $0.failing) = (0, 0, 0, 0)
    }
  }
}
