import HearthCrypto

/// The text of an invitation: its secret, and where the household's folder is.
///
/// `hearth://join/v1/SECRET/FOLDER`, where SECRET has 28 characters with their own check and
/// FOLDER is the path in base32. Whoever has the link can join; it is given to one person only.
package struct InvitationLink {
  package let secret: InviteSecret
  /// The inviter's path of the shared folder, if it has one.
  package let folder: String?

  private static let prefix = "hearth://join/v1/"
  private static let maximumCharacters = 8 * 1024

  init(secret: InviteSecret, folder: String?) {
    self.secret = secret
    self.folder = folder
  }

  /// Reads a link, and says what is wrong with one that cannot be.
  package init(text: String) throws {
    let text = text.filter { !$0.isWhitespace }
    guard text.utf8.count <= InvitationLink.maximumCharacters else {
      throw HearthError(.invalid, "this is too long for an invitation link")
    }
    guard text.lowercased().hasPrefix(InvitationLink.prefix) else {
      throw HearthError(
        .invalid,
        "this is not an invitation link: one begins with \(InvitationLink.prefix); copy the last "
          + "line that `hearth invite` printed")
    }
    let parts = text.dropFirst(InvitationLink.prefix.count)
      .split(separator: "/", omittingEmptySubsequences: false)
    do {
      secret = try InviteSecret(text: String(parts.first ?? ""))
      folder =
        parts.count > 1 && !parts[1].isEmpty
        ? String(decoding: try Base32.decode(String(parts[1])), as: UTF8.self) : nil
    } catch {
      throw HearthError(.invalid, "the invitation link is damaged: \(error)", cause: error)
    }
  }

  /// The link as people send it.
  package var text: String {
    InvitationLink.prefix + secret.text + "/" + Base32.encode(Array((folder ?? "").utf8))
  }
}
