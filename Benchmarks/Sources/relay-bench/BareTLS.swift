import ArgumentParser
import Dispatch
import Foundation
import HearthCrypto
import HearthRelay
import HearthRelayCore
import HearthRelayProtocol
import HearthSync
import NIOCore
import NIOPosix
import NIOSSL

/// A server that shakes hands as a relay does, answers each byte with one, and does nothing else:
/// the floor under a relay's memory.
struct BareTLS: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "bare-tls", abstract: "Serves TLS and nothing else.", shouldDisplay: false)

  func run() throws {
    let identity = try RelayServerIdentity(master: SecretKey.random())
    let (context, pin) = try RelayTLS.serverContext(identity, nil)
    let channel = try ServerBootstrap(group: MultiThreadedEventLoopGroup(numberOfThreads: 1))
      .serverChannelOption(.backlog, value: 512)
      .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandlers([
            NIOSSLServerHandler(context: context), Echo(),
          ])
        }
      }.bind(host: "127.0.0.1", port: 0).wait()
    let address = try RelayAddress(
      host: "127.0.0.1", port: channel.localAddress?.port ?? 0, pin: pin)
    FileHandle.standardOutput.write(Data("\(address)\n".utf8))
    try channel.closeFuture.wait()
  }

  private final class Echo: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      context.writeAndFlush(data, promise: nil)
    }
  }
}
