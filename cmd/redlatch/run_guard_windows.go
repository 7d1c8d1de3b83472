package main

// A guardCommand does not exist here, because "run" does not.
type guardCommand struct{}

// Run does nothing.
func (*guardCommand) Run() error { return nil }
