import HearthRelayCore
import NIOCore
import NIOHTTP1

/// Answers `/healthz` and `/metrics` on the operator's port, and nothing else.
final class HealthHandler: ChannelInboundHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  private let status: @Sendable () -> EventLoopFuture<RelayStatus>

  init(status: @escaping @Sendable () -> EventLoopFuture<RelayStatus>) {
    self.status = status
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard case .head(let head) = unwrapInboundIn(data) else { return }
    switch (head.method, head.uri) {
    case (.GET, "/healthz"):
      tell(context) { status in
        status.trouble.map { (.serviceUnavailable, $0 + "\n") } ?? (.ok, "ok\n")
      }
    case (.GET, "/metrics"): tell(context) { (.ok, $0.metrics) }
    default: answer(context, .notFound, "use /healthz or /metrics\n")
    }
  }

  private func tell(
    _ context: ChannelHandlerContext,
    _ words: @escaping (RelayStatus) -> (HTTPResponseStatus, String)
  ) {
    let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
    status().hop(to: context.eventLoop).assumeIsolated().whenSuccess {
      let (status, text) = words($0)
      self.answer(bound.value, status, text)
    }
  }

  private func answer(
    _ context: ChannelHandlerContext, _ status: HTTPResponseStatus, _ text: String
  ) {
    var headers = HTTPHeaders()
    headers.add(name: "content-type", value: "text/plain; version=0.0.4; charset=utf-8")
    headers.add(name: "content-length", value: "\(text.utf8.count)")
    headers.add(name: "connection", value: "close")
    let head = HTTPResponseHead(version: .http1_1, status: status, headers: headers)
    context.write(wrapOutboundOut(.head(head)), promise: nil)
    context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: text)))), promise: nil)
    let channel = context.channel
    context.writeAndFlush(wrapOutboundOut(.end(nil))).whenComplete { _ in
      channel.close(promise: nil)
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    context.close(promise: nil)
  }
}
