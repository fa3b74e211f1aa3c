import Glibc
import HearthCRDT
import HearthRelayCore
import HearthRelayProtocol
import HearthSync
import NIOCore
import NIOSSL

/// The longest frame that a connection's decoder accepts now; confined to one event loop.
final class RelayFrameLimit {
  var value = RelayLimits.maximumHandshakeFrameBytes
  /// Whether the connection is being closed.
  ///
  /// Further input of any size is discarded.
  var isOver = false
  /// The buffered bytes of an incomplete frame.
  var heldBytes = 0
}

/// Splits a connection's bytes into frames.
///
/// An announced length above the limit ends the connection, without reading the frame.
struct RelayFrameDecoder: ByteToMessageDecoder {
  typealias InboundOut = [UInt8]

  private let limit: RelayFrameLimit
  /// Whether framing is lost.
  ///
  /// All later input is discarded.
  private var isLost = false

  init(limit: RelayFrameLimit) { self.limit = limit }

  mutating func decode(context: ChannelHandlerContext, buffer: inout ByteBuffer) throws
    -> DecodingState
  {
    limit.heldBytes = 0
    guard !isLost, !limit.isOver else {
      buffer.clear()
      return .needMoreData
    }
    guard let field = buffer.getInteger(at: buffer.readerIndex, as: UInt32.self) else {
      return .needMoreData
    }
    let length: Int
    do {
      length = try RelayFraming.frameBytes(announcedBy: field, atMost: limit.value)
    } catch {
      isLost = true
      throw error
    }
    guard buffer.readableBytes >= RelayFraming.lengthBytes + length else {
      limit.heldBytes = buffer.readableBytes
      return .needMoreData
    }
    buffer.moveReaderIndex(forwardBy: RelayFraming.lengthBytes)
    guard let bytes = buffer.readBytes(length: length) else { return .needMoreData }
    context.fireChannelRead(NIOAny(bytes))
    return .continue
  }

  mutating func decodeLast(
    context: ChannelHandlerContext, buffer: inout ByteBuffer, seenEOF: Bool
  ) throws -> DecodingState {
    // An incomplete frame at the end is ignored.
    try decode(context: context, buffer: &buffer)
  }
}

/// What a connection reports to.
protocol RelayConnectionOwner: AnyObject {
  /// The connection is there, from an address for which limits are counted.
  func opened(_ connection: RelayConnection, address: [UInt8])
  /// The connection is gone.
  func closed(_ connection: RelayConnection)
  /// Processes one event; its output is sent at the next ``flush()``.
  func handle(_ event: RelayEvent)
  /// Starts the pending requests to the log and sends the pending output.
  func flush()
}

/// One connection: reports events to the hub, and stops reading while its output queue is too long.
final class RelayConnection: ChannelInboundHandler {
  typealias InboundIn = [UInt8]

  let id: RelaySessionID
  private let hub: any RelayConnectionOwner
  private let limit: RelayFrameLimit
  private var context: ChannelHandlerContext?
  private var isCongested = false
  private var isPaused = false
  /// Whether something was written since the last flush.
  private(set) var isDirty = false
  /// The number of unflushed bytes.
  private var unsentBytes = 0
  private var hasWritten = false
  /// The size of the output queue at the last check.
  private var bufferedBytes = Int.max
  /// The bytes of an incomplete frame that were reported to the hub.
  private var heldBytes = 0
  /// The size from which an incomplete frame is reported.
  static let notedBytes = 16 << 10
  /// The bytes that a congested client must take between two checks to count as reading.
  ///
  /// A slower network cannot carry a household.
  static let leastDrainedBytes = 512

  init(id: RelaySessionID, hub: any RelayConnectionOwner, limit: RelayFrameLimit) {
    self.id = id
    self.hub = hub
    self.limit = limit
  }

  func channelActive(context: ChannelHandlerContext) {
    self.context = context
    hub.opened(self, address: RelayConnection.bucket(context.remoteAddress))
    context.fireChannelActive()
  }

  func channelInactive(context: ChannelHandlerContext) {
    self.context = nil
    hub.closed(self)
    context.fireChannelInactive()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let bytes = unwrapInboundIn(data)
    do {
      let frame = try RelayFrame<RelayRequest>(decoding: bytes)
      hub.handle(.received(id, frame, byteCount: bytes.count + RelayFraming.lengthBytes))
    } catch {
      hub.handle(.malformed(id, error.description))
    }
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    // Report this even while no frame is complete.
    hub.handle(.arriving(id))
    let held = limit.heldBytes >= RelayConnection.notedBytes ? limit.heldBytes : 0
    if held != heldBytes {
      heldBytes = held
      hub.handle(.holding(id, byteCount: held))
    }
    hub.flush()
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    isCongested = !context.channel.isWritable
    bufferedBytes = .max
    setReading()
    hub.handle(.congested(id, isCongested))
    hub.flush()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    if let fault = error as? CodecError {
      hub.handle(.malformed(id, fault.description))
      hub.flush()
    } else {
      // Whatever TLS or the socket reports, the connection is of no more use.
      context.close(promise: nil)
    }
  }

  // MARK: Operations of the hub

  /// Checks whether a client with a long output queue reads any of it.
  func look() {
    guard isCongested, let context else { return }
    context.channel.getOption(.bufferedWritableBytes).assumeIsolated().whenSuccess { waiting in
      guard self.isCongested else { return }
      if self.bufferedBytes < .max,
        waiting + RelayConnection.leastDrainedBytes <= self.bufferedBytes
      {
        self.hub.handle(.draining(self.id))
      }
      self.bufferedBytes = min(self.bufferedBytes, waiting)
    }
  }

  func write(_ buffer: ByteBuffer) {
    context?.write(NIOAny(buffer), promise: nil)
    unsentBytes += buffer.readableBytes
    isDirty = true
    hasWritten = true
  }

  /// Sends the pending output.
  ///
  /// - Returns: its size in bytes, before TLS.
  func flush() -> Int {
    let bytes = unsentBytes
    unsentBytes = 0
    isDirty = false
    context?.flush()
    return bytes
  }

  func setPaused(_ isPaused: Bool) {
    self.isPaused = isPaused
    setReading()
  }

  private func setReading() {
    // The option is set on the connection's own loop, so at once. It fails only on a closed
    // connection.
    _ = context?.channel.setOption(.autoRead, value: !isCongested && !isPaused)
  }

  /// Permits frames of full length.
  func trust() {
    limit.value = RelayLimits.maximumFrameBytes
  }

  /// Closes once everything is sent, or soon in any case.
  func closeAfterSending() {
    guard let context else { return }
    limit.isOver = true
    let channel = context.channel
    guard hasWritten else {
      // The connection is refused before any exchange, so it costs no handshake and no time.
      channel.close(promise: nil)
      return
    }
    // A buffered part of a long frame lives as long as the connection, so do not wait for TLS.
    let close = { [heldBytes] in
      let tls = try? channel.pipeline.syncOperations.context(
        handlerType: NIOSSLServerHandler.self)
      if heldBytes > 0, let tls { tls.close(promise: nil) } else { channel.close(promise: nil) }
    }
    let loop = channel.eventLoop.assumeIsolated()
    let deadline = loop.scheduleTask(in: .seconds(2)) { close() }
    channel.writeAndFlush(channel.allocator.buffer(capacity: 0)).assumeIsolated().whenComplete {
      _ in
      deadline.cancel()
      close()
    }
  }

  /// The key by which limits are counted: an IPv4 address, or the 64-bit network of an IPv6
  /// address.
  static func bucket(_ address: SocketAddress?) -> [UInt8] {
    guard let text = address?.ipAddress else { return [] }
    var bytes = [UInt8](repeating: 0, count: 16)
    if inet_pton(AF_INET, text, &bytes) == 1 { return Array(bytes.prefix(4)) }
    return inet_pton(AF_INET6, text, &bytes) == 1 ? Array(bytes.prefix(8)) : []
  }
}
