import NIOCore
import NIOHTTP1

/// Answers `/healthz` and `/metrics` on the operator's port, and nothing else.
final class HealthHandler: ChannelInboundHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  private let status: @Sendable () -> EventLoopFuture<RelayStatus>
  private let isHealthy: @Sendable () -> Bool

  init(
    status: @escaping @Sendable () -> EventLoopFuture<RelayStatus>,
    isHealthy: @escaping @Sendable () -> Bool
  ) {
    self.status = status
    self.isHealthy = isHealthy
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard case .head(let head) = unwrapInboundIn(data) else { return }
    switch (head.method, head.uri) {
    case (.GET, "/healthz"):
      let isHealthy = isHealthy()
      answer(
        context, isHealthy ? .ok : .serviceUnavailable, isHealthy ? "ok\n" : "the log failed\n")
    case (.GET, "/metrics"):
      let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
      status().hop(to: context.eventLoop).assumeIsolated().whenSuccess {
        self.answer(bound.value, .ok, $0.metrics)
      }
    default: answer(context, .notFound, "there are /healthz and /metrics\n")
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
