package run

import (
	"os"
	"slices"
	"strings"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/connect"
)

// What the command is told of the lock. A run of the same lock within it reads this.
const (
	ownerVariable = "REDLATCH_OWNER"
	nameVariable  = "REDLATCH_NAME"
	modeVariable  = "REDLATCH_MODE"
)

// environment is that of the guard and of the command: without the password, and with what the lock is.
func (c *Config) environment(owner string) []string {
	env := slices.DeleteFunc(os.Environ(), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		switch name {
		case connect.PasswordVariable, connect.URLVariable, ownerVariable, nameVariable, modeVariable, "REDLATCH_GUARD":
			return true
		}
		return false
	})
	if c.URL != "" {
		env = append(env, connect.URLVariable+"="+c.URL)
	}
	return append(env, ownerVariable+"="+owner, nameVariable+"="+c.Name, modeVariable+"="+string(c.Mode))
}
