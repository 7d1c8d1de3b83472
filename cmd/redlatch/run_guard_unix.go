//go:build unix

package main

import "github.com/redlatch/redlatch/cmd/redlatch/internal/guard"

// A guardCommand is the second process of a run. "run" starts it, not people.
type guardCommand struct {
	Orders  int `arg:""`
	Reports int `arg:""`
}

// Run is the guard.
func (g *guardCommand) Run() error { return guard.Run(g.Orders, g.Reports) }
