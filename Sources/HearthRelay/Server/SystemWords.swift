import Foundation
import Glibc
import HearthRelayCore
import NIOCore

/// The words of system errors, without the names of Swift types.
enum SystemWords {
  /// Describes an error in a few words.
  static func words(_ error: any Error) -> String {
    switch error {
    case let error as IOError: return words(errno: error.errnoCode)
    case is SocketAddressError.UnknownHost: return "there is no such host"
    case is SocketAddressError: return "this is not an address"
    default: break
    }
    var next: NSError? = error as NSError
    while let present = next {
      if present.domain == NSPOSIXErrorDomain { return words(errno: Int32(present.code)) }
      next = present.userInfo[NSUnderlyingErrorKey] as? NSError
    }
    return "the system refuses it"
  }

  /// Describes an `errno` value.
  static func words(errno number: Int32) -> String {
    switch number {
    case EADDRINUSE: "another program uses this port"
    case EADDRNOTAVAIL: "this machine does not have this address"
    case EACCES, EPERM: "this user lacks the permission"
    case ENOTDIR, EEXIST: "something other than a folder is in its place"
    case EROFS: "the disk is read-only"
    case ENOSPC, EDQUOT: "the disk is full"
    case ENOENT: "it does not exist"
    default: String(cString: strerror(number)).lowercased()
    }
  }
}
