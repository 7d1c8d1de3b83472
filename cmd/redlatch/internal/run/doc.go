// Package run is "redlatch run": a command that runs while a lock is held. This process is the holder; package guard says what
// the other process does.
package run
