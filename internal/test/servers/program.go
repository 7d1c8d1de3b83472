package servers

import (
	"fmt"
	"os"
	"os/exec"
)

// Variable names the environment variable that says which server program is started, by its path. It has to be a
// program that becomes a sentinel with --sentinel, as all of Redis and Valkey do.
const Variable = "REDLATCH_SERVER"

// Program is what the servers are started from: the path in REDLATCH_SERVER, else redis-server, looked up on the PATH.
func Program() string {
	if path := os.Getenv(Variable); path != "" {
		return path
	}
	return "redis-server"
}

// Look says with an error that there is no such program, before something is started.
func Look() error {
	if _, err := exec.LookPath(Program()); err != nil {
		return fmt.Errorf("servers: put redis-server 6.2 or newer on the PATH, or name a server program in %s: %w", Variable, err)
	}
	return nil
}
