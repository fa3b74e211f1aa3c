import HearthCRDT
import HearthSync

/// The spelling of every name in a shared folder, without touching any file.
///
/// Printing gives the one exact form; parsing accepts only that form. `FolderEntry` handles names
/// that sync programs changed. `docs/reference/folder-layout.md` describes the layout.
package enum FolderLayout {
  /// The note for people who find the folder.
  package static let noteName = "HEARTH.txt"
  /// The directory of segments.
  package static let segmentsDirectory = "z"
  /// The directory of snapshots.
  package static let snapshotsDirectory = "s"
  /// The directory of attachments.
  package static let attachmentsDirectory = "a"
  /// The directory of invitation bundles.
  package static let capsulesDirectory = "i"

  /// The note's text.
  ///
  /// It is the same in every folder, so that sync programs never see two versions of it.
  package static let note = """
    This folder carries a Hearth household between devices.

    Every file in it is encrypted. The names say nothing, and nobody can read the
    content without the keys on the household's own devices.

    Please do not edit, rename or move anything here. Hearth writes each file once and
    removes what it no longer needs. If a file is deleted by mistake, the device that
    wrote it puts it back at its next sync. Copying this folder is safe.

    """

  /// The path components of a segment's file, from the folder's root.
  ///
  /// - Returns: four names, or nil if the name's numbers are not a range counted from 1.
  package static func path(of name: SegmentName) -> [String]? {
    guard isRange(name) else { return nil }
    return [
      segmentsDirectory, name.zoneTag.hex, authorDirectory(name.authorTag, name.incarnation),
      "\(hex(name.first))-\(hex(name.last))-\(name.digest.hex).\(FolderPattern.segment.suffix)",
    ]
  }

  /// The path components of a blob's file, from the folder's root.
  ///
  /// - Returns: two names for a bundle, three for a chunk. Nil if a field is set that the path
  ///   cannot contain, or if a number does not fit.
  package static func path(of name: BlobName) -> [String]? {
    switch name.kind {
    case .capsule:
      guard name.group == .zero, name.index == 0, name.count == 1, name.digest == .zero else {
        return nil
      }
      return [capsulesDirectory, "\(name.scope.hex).\(FolderPattern.capsule.suffix)"]
    case .snapshot:
      guard name.index >= 0, name.index < name.count,
        let index = UInt32(exactly: name.index), let count = UInt32(exactly: name.count)
      else { return nil }
      let place = "\(hex(UInt64(index), digits: 8))-\(hex(UInt64(count), digits: 8))"
      return [
        snapshotsDirectory, name.scope.hex,
        "\(name.group.hex)-\(place)-\(name.digest.hex).\(FolderPattern.snapshot.suffix)",
      ]
    case .attachment:
      guard name.group == .zero, name.index == 0, name.count == 1 else { return nil }
      return [
        attachmentsDirectory, name.scope.hex,
        "\(name.digest.hex).\(FolderPattern.attachment.suffix)",
      ]
    }
  }

  /// The name of an author's directory within a zone's.
  package static func authorDirectory(_ tag: Identifier, _ incarnation: UInt64) -> String {
    "\(tag.hex)-\(hex(incarnation))"
  }

  /// The name of an unfinished file.
  package static func temporaryName(_ random: UInt64) -> String {
    FolderPattern.temporaryPrefix + hex(random)
  }

  /// Reads a segment's path of exact form; nil for anything else.
  package static func segment(path: [String]) -> SegmentName? {
    guard path.count == 4, path[0] == segmentsDirectory,
      let zone = FolderPattern.zone.exact(path[1]),
      let author = FolderPattern.author.exact(path[2]),
      let file = FolderPattern.segment.exact(path[3])
    else { return nil }
    return segment(zone: zone.identifier(0), author: author, file: file)
  }

  /// Reads a blob's path of exact form; nil for anything else.
  package static func blob(path: [String]) -> BlobName? {
    if path.count == 2, path[0] == capsulesDirectory {
      return FolderPattern.capsule.exact(path[1]).map {
        BlobName(kind: .capsule, scope: $0.identifier(0))
      }
    }
    guard path.count == 3, let zone = FolderPattern.zone.exact(path[1]),
      let kind = chunkDirectories.first(where: { $0.directory == path[0] })?.kind
    else { return nil }
    return pattern(of: kind).exact(path[2]).flatMap {
      chunk(kind, zone: zone.identifier(0), file: $0)
    }
  }

  /// The directories that hold a zone's chunks, by what the chunks are of.
  static let chunkDirectories: [(kind: BlobName.Kind, directory: String)] = [
    (.snapshot, snapshotsDirectory), (.attachment, attachmentsDirectory),
  ]

  /// The form of the files of a kind of blob.
  static func pattern(of kind: BlobName.Kind) -> FolderPattern {
    switch kind {
    case .capsule: .capsule
    case .snapshot: .snapshot
    case .attachment: .attachment
    }
  }

  /// Creates a segment's name from the fields of its path; nil if the range is invalid.
  static func segment(zone: Identifier, author: FolderFields, file: FolderFields) -> SegmentName? {
    let name = SegmentName(
      zoneTag: zone, authorTag: author.identifier(0), incarnation: author.number(2),
      first: file.number(0), last: file.number(1), digest: file.identifier(2))
    return isRange(name) ? name : nil
  }

  /// Creates a chunk's name from the fields of its path; nil if a snapshot's chunk has an invalid
  /// index or count, and for a bundle.
  static func chunk(_ kind: BlobName.Kind, zone: Identifier, file: FolderFields) -> BlobName? {
    switch kind {
    case .capsule: return nil
    case .attachment: return BlobName(kind: kind, scope: zone, digest: file.identifier(0))
    case .snapshot:
      let index = Int(file.number(2))
      let count = Int(file.number(3))
      guard index < count else { return nil }
      return BlobName(
        kind: kind, scope: zone, group: file.identifier(0), index: index, count: count,
        digest: file.identifier(4))
    }
  }

  /// Whether a segment's numbers are a range of changes, counted from 1, within a log's maximum.
  private static func isRange(_ name: SegmentName) -> Bool {
    name.first >= 1 && name.first <= name.last && name.last <= Frontier.maximumSequence
  }

  /// A number in lower-case hexadecimal digits, padded with zeros.
  static func hex(_ number: UInt64, digits: Int = 16) -> String {
    let text = String(number, radix: 16)
    return String(repeating: "0", count: max(0, digits - text.count)) + text
  }
}
