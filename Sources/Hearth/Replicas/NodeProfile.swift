/// The person and device of a node.
package struct NodeProfile: Codable, Sendable {
  package internal(set) var personID: String
  package var personName: String
  package var deviceName: String
}
