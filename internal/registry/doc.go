// Package registry says who is behind an identity in Redis. While a client holds or waits for anything for
// longer than a second, it keeps one entry: its host, process, program and label, and for each name and kind
// what it holds and who waits. Nothing depends on an entry: locks work as well where it is refused, lost or
// forged.
//
// This page of the package is the format, which is public; docs/internals/protocol.md has it in words. Times
// are milliseconds since 1970 by the server's clock.
package registry
