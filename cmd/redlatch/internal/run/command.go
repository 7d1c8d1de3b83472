package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os/exec"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/exit"
)

// lookUp finds the program as a shell does, with the exit codes of one.
func lookUp(name string) (path string, err error) {
	path, err = exec.LookPath(name)
	switch {
	case err == nil, errors.Is(err, exec.ErrDot) && path != "": // the user's PATH has the current folder
		return path, nil
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return "", exit.With(exit.NotFound, fmt.Errorf("%s: command not found", name))
	default:
		return "", exit.With(exit.NotExecutable, fmt.Errorf("%s: cannot be executed: %w", name, errors.Unwrap(err)))
	}
}
