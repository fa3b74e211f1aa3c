/// A version vector: for each author the greatest sequence number known without a gap.
///
/// It is an array sorted by author. Households have tens of authors, and a short sorted array is
/// smaller and faster than a dictionary. It also has a single order, which the encoding needs.
public struct Frontier: Hashable, Sendable {
  /// One author's mark.
  public struct Entry: Hashable, Sendable {
    /// The author.
    public let author: Author
    /// The greatest sequence number known without a gap, at least 1.
    public internal(set) var sequence: UInt64
  }

  /// The marks in order of author; an absent author has the mark 0.
  public private(set) var entries: [Entry]

  /// Makes an empty frontier.
  public init() {
    entries = []
  }

  /// Makes a frontier from entries in any order.
  ///
  /// Entries of 0 are dropped; of duplicates the greatest remains.
  package init(_ pairs: some Sequence<(Author, UInt64)>) {
    entries = []
    for (author, sequence) in pairs {
      advance(author, to: sequence)
    }
  }

  /// Takes entries that the caller has sorted by author, without duplicates or zeros.
  init(sortedEntries: [Entry]) {
    entries = sortedEntries
  }

  /// Whether the frontier has no entries.
  public var isEmpty: Bool { entries.isEmpty }

  /// The author's mark; 0 if the author is absent.
  ///
  /// O(log n).
  public subscript(author: Author) -> UInt64 {
    let place = position(of: author)
    guard place < entries.count, entries[place].author == author else { return 0 }
    return entries[place].sequence
  }

  /// Whether the change named by the dot is within this frontier.
  public func covers(_ dot: Dot) -> Bool {
    self[dot.author] >= dot.sequence
  }

  /// Whether this frontier includes everything in `other`.
  ///
  /// O(n), n the greater number of entries.
  public func covers(_ other: Frontier) -> Bool {
    var place = 0
    for entry in other.entries {
      while place < entries.count, entries[place].author < entry.author { place += 1 }
      guard place < entries.count, entries[place].author == entry.author,
        entries[place].sequence >= entry.sequence
      else { return false }
    }
    return true
  }

  /// Whether two frontiers of the same authors differ in the mark of one author at most.
  ///
  /// O(n), n the number of entries.
  package func equals(_ other: Frontier, exceptFor author: Author) -> Bool {
    guard entries.count == other.entries.count else { return false }
    return entries.withUnsafeBufferPointer { own in
      other.entries.withUnsafeBufferPointer { others in
        own.indices.allSatisfy {
          own[$0].author == others[$0].author
            && (own[$0].sequence == others[$0].sequence || own[$0].author == author)
        }
      }
    }
  }

  /// Raises the author's mark to `sequence` if that is greater.
  package mutating func advance(_ author: Author, to sequence: UInt64) {
    guard sequence > 0 else { return }
    let place = position(of: author)
    if place < entries.count, entries[place].author == author {
      entries[place].sequence = max(entries[place].sequence, sequence)
    } else {
      entries.insert(Entry(author: author, sequence: sequence), at: place)
    }
  }

  /// The least frontier that covers both: commutative, associative, idempotent.
  ///
  /// O(n), n the greater number of entries.
  package func joined(with other: Frontier) -> Frontier {
    if entries.isEmpty { return other }
    if other.entries.count <= 2 {
      var result = self
      for entry in other.entries { result.advance(entry.author, to: entry.sequence) }
      return result
    }
    return Frontier(sortedEntries: Frontier.merged(entries, other.entries, combining: max))
  }

  /// Merges two lists that are sorted by author, and combines the marks of one author.
  private static func merged(
    _ left: [Entry], _ right: [Entry], combining: (UInt64, UInt64) -> UInt64
  ) -> [Entry] {
    var result: [Entry] = []
    result.reserveCapacity(max(left.count, right.count))
    var place = 0
    for entry in left {
      while place < right.count, right[place].author < entry.author {
        result.append(right[place])
        place += 1
      }
      if place < right.count, right[place].author == entry.author {
        let sequence = combining(entry.sequence, right[place].sequence)
        result.append(Entry(author: entry.author, sequence: sequence))
        place += 1
      } else {
        result.append(entry)
      }
    }
    result.append(contentsOf: right[place...])
    return result
  }

  /// The greatest frontier that both of them cover.
  package func met(with other: Frontier) -> Frontier {
    var result: [Entry] = []
    for entry in entries {
      let sequence = min(entry.sequence, other[entry.author])
      if sequence > 0 {
        result.append(Entry(author: entry.author, sequence: sequence))
      }
    }
    return Frontier(sortedEntries: result)
  }

  /// The citations for everything in this frontier beyond `base`, which this frontier must cover.
  ///
  /// - Parameter hash: the chain hash of an author's log at this frontier.
  package func difference(
    from base: Frontier, citing hash: (Author) -> [UInt8]
  ) -> FrontierDifference {
    precondition(covers(base), "difference of \(self) from the uncovered \(base)")
    var heads: [CitedHead] = []
    for entry in entries where entry.sequence > base[entry.author] {
      heads.append(
        CitedHead(
          author: entry.author, sequence: entry.sequence,
          hash: CitedHead.prefix(of: hash(entry.author))))
    }
    return FrontierDifference(heads: heads)
  }

  /// The marks beyond those of an earlier frontier; all marks if the frontiers have nothing in
  /// common.
  ///
  /// O(n), n the greater number of entries.
  ///
  /// - Parameter limit: the most marks to return. For more, the result is nil, which is detected
  ///   early.
  package func news(since earlier: Frontier, atMost limit: Int) -> Frontier? {
    guard entries.count - earlier.entries.count <= limit else { return nil }
    var news: [Entry] = []
    let isComplete = entries.withUnsafeBufferPointer { own in
      earlier.entries.withUnsafeBufferPointer { known in
        // One is a copy of the other.
        if own.baseAddress == known.baseAddress { return true }
        var place = 0
        for entry in own {
          // Usually both name the same authors.
          var isKnown = place < known.count && known[place].author == entry.author
          if !isKnown {
            while place < known.count, known[place].author < entry.author { place += 1 }
            isKnown = place < known.count && known[place].author == entry.author
          }
          if isKnown {
            place += 1
            if known[place - 1].sequence >= entry.sequence { continue }
          }
          guard news.count < limit else { return false }
          news.append(entry)
        }
        return true
      }
    }
    return isComplete ? Frontier(sortedEntries: news) : nil
  }

  /// This frontier raised by a difference.
  ///
  /// Nil if a cited change is already known, since nobody cites a change again, or is beyond the
  /// greatest number.
  package func raised(by difference: FrontierDifference) -> Frontier? {
    var result = self
    return result.raise(by: difference) ? result : nil
  }

  /// Raises this frontier by a difference like ``raised(by:)``, in place.
  ///
  /// - Returns: False if it cannot be raised, and is what it was.
  package mutating func raise(by difference: FrontierDifference) -> Bool {
    guard
      difference.heads.allSatisfy({
        $0.sequence > self[$0.author] && $0.sequence <= Frontier.maximumSequence
      })
    else { return false }
    if difference.heads.count <= 2 {
      for head in difference.heads { advance(head.author, to: head.sequence) }
    } else {
      let news = difference.heads.map { Entry(author: $0.author, sequence: $0.sequence) }
      entries = Frontier.merged(entries, news, combining: max)
    }
    return true
  }

  /// The marks of one device's incarnations only.
  package func own(of device: DeviceID) -> Frontier {
    Frontier(sortedEntries: entries.filter { $0.author.device == device })
  }

  /// This frontier with other marks of some devices, which are given in order.
  ///
  /// O(n), n the greater number of entries and devices.
  ///
  /// - Parameter other: The mark that replaces one, or nil for none. It must be of the same device,
  ///   and keep the order of the device's marks.
  package func replacing(
    marksOf devices: [DeviceID], by other: (Entry) -> (Author, UInt64)?
  ) -> Frontier {
    var next = 0
    var result: [Entry] = []
    result.reserveCapacity(entries.count)
    for entry in entries {
      while next < devices.count, devices[next] < entry.author.device { next += 1 }
      guard next < devices.count, devices[next] == entry.author.device else {
        result.append(entry)
        continue
      }
      if let (author, sequence) = other(entry), sequence > 0 {
        result.append(Entry(author: author, sequence: sequence))
      }
    }
    return Frontier(sortedEntries: result)
  }

  /// Removes a dot that is its author's mark.
  mutating func withdraw(_ dot: Dot) {
    let place = position(of: dot.author)
    guard place < entries.count, entries[place].author == dot.author,
      entries[place].sequence == dot.sequence
    else { return }
    if dot.sequence > 1 {
      entries[place].sequence -= 1
    } else {
      entries.remove(at: place)
    }
  }

  /// The greatest sequence number that any encoding accepts.
  package static let maximumSequence: UInt64 = 1 << 63 - 1

  private func position(of author: Author) -> Int {
    entries.partitionPoint { $0.author >= author }
  }
}

extension Frontier: CustomStringConvertible {
  /// Each author with its mark, in order of author.
  public var description: String {
    "[" + entries.map { "\($0.author):\($0.sequence)" }.joined(separator: " ") + "]"
  }
}

/// An author's log up to a change, cited by number and content.
package struct CitedHead: Hashable, Sendable {
  /// The author.
  package let author: Author
  /// The number of the last seen change, at least 1.
  package let sequence: UInt64
  /// The first eight bytes of the author's chain hash after it, big-endian.
  ///
  /// Only a device that has the change knows them.
  package let hash: UInt64

  package init(author: Author, sequence: UInt64, hash: UInt64) {
    self.author = author
    self.sequence = sequence
    self.hash = hash
  }

  /// The part of a chain hash that a citation contains.
  @inlinable
  package static func prefix(of chainHash: [UInt8]) -> UInt64 {
    chainHash.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
  }
}

/// The difference between two frontiers, by author, with proof.
///
/// Changes contain differences instead of whole frontiers, since usually only one or two authors
/// have news.
package struct FrontierDifference: Hashable, Sendable {
  /// The newly seen heads, in order of author.
  package let heads: [CitedHead]

  /// The empty difference.
  package static let none = FrontierDifference(heads: [])

  /// Whether there is no difference.
  package var isEmpty: Bool { heads.isEmpty }

  /// Takes citations that the caller has sorted by author, without duplicates.
  package init(heads: [CitedHead]) {
    self.heads = heads
  }
}
