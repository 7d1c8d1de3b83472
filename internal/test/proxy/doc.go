// Package proxy is a TCP proxy between a Redis client and its server that understands what passes through it, so
// that a test or a program can do harm to one chosen command: swallow its reply after it was executed, cut the connection before or
// after it, or keep its request until the client has long given up.
//
//	p, err := proxy.Start(addr)
//	...
//	defer p.Close()
//	rule := p.On(proxy.Named("EVALSHA"), 1, proxy.DropReply)
//	... a client of p.Addr() ...
//	... until rule.Executed() is 1 ...
//
// A connection through the proxy has two legs, client to proxy and proxy to server, and they end separately: what the
// proxy has read from a client reaches the server even when that client is gone, as it does on a real network. That is
// how one makes a ghost, a command executed after its sender gave up: Hold the request, let the client go, Release.
//
// Nothing here breaks the order of a byte stream, because TCP does not either. A connection that lost a request or a
// reply is deaf in that direction from there on; forwarding what follows would hand the client a stranger's reply.
//
// Requests must be arrays of bulk strings, which is what clients send; replies are RESP2 or RESP3. MONITOR, CLIENT
// REPLY and TLS are not supported. A server that cannot be dialled shows as a connection that is closed at once.
//
// A proxy of New has no port. Its clients come by Dial, without a socket, and so can the server: then everything works in a
// bubble of testing/synctest.
//
// The tests of this module take it from package faultproxy, which fails the test where this one returns an error. Package
// redlatchtest, and programs that judge the library, use it as it is; the library itself must not import it.
package proxy
