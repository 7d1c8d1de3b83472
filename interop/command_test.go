package interop_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// command is the redlatch command, built when the first test needs it.
var command tool

type tool struct {
	once   sync.Once
	folder string
	err    error
}

func (c *tool) build() {
	if c.folder, c.err = os.MkdirTemp("", "redlatch-interop-"); c.err != nil {
		return
	}
	if out, err := exec.Command("go", "build", "-o", c.binary(), "../cmd/redlatch").CombinedOutput(); err != nil {
		c.err = fmt.Errorf("build the command: %w\n%s", err, out)
	}
}

func (c *tool) binary() string { return filepath.Join(c.folder, "redlatch") }

func (c *tool) remove() {
	if c.folder != "" {
		_ = os.RemoveAll(c.folder)
	}
}

// redlatch runs the command on the servers of the world, and answers what it wrote.
func (w *world) redlatch(t *testing.T, args ...string) string {
	t.Helper()
	command.once.Do(command.build)
	require.NoError(t, command.err)
	run := exec.Command(command.binary(), append(args, "--url", w.url())...)
	var stderr strings.Builder
	run.Stderr = &stderr
	out, err := run.Output()
	require.NoError(t, err, stderr.String())
	return string(out)
}

// document is redlatch for a command with -o json.
func (w *world) document(t *testing.T, to any, args ...string) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(w.redlatch(t, append(args, "-o", "json")...)), to))
}

// url is where the command finds the servers.
func (w *world) url() string {
	url := w.config["addresses"].([]string)[0]
	switch w.config["mode"] {
	case "cluster":
		return strings.Replace(url, "redis:", "redis+cluster:", 1)
	case "sentinel":
		return strings.Replace(url, "redis:", "redis+sentinel:", 1) + "/" + w.config["master"].(string)
	}
	return url
}
