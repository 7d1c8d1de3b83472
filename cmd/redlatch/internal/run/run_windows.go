package run

import (
	"errors"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/exit"
)

// Run refuses: nothing here ends what the command has started when the lock is lost.
func Run(Config) error {
	return exit.With(exit.Failed, errors.New("this does not work on Windows, where the processes that a command has started cannot be ended reliably; "+
		"run it in WSL, or take the lock in the program, with package rlock"))
}
