package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/registry"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

// watched starts the redlatch binary. The test reads what it prints from the reader.
func watched(t *testing.T, args ...string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	cmd := exec.Command(binary, args...)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, bufio.NewReader(stdout)
}

func TestAWatchOnAPipeWritesFrameAfterFrame(t *testing.T) {
	srv := redistest.Mini(t)
	scene(t, srv.Client(t))
	url := "redis://" + srv.Addr
	told := func() int64 { return srv.Client(t).Exists(t.Context(), registry.Watched("", 0)).Val() }
	for schema, args := range map[string][]string{"redlatch.ls/1": {"ls", "--watch"}, "redlatch.top/1": {"top"}} {
		cmd, out := watched(t, append(args, "--every", "100ms", "-o", "json", "--url", url)...)
		for range 3 { // each on a line
			line, err := out.ReadBytes('\n')
			require.NoError(t, err)
			var document struct{ Schema string }
			require.NoError(t, json.Unmarshal(line, &document), "%s", line)
			require.Equal(t, schema, document.Schema)
		}
		require.NoError(t, cmd.Process.Signal(os.Interrupt))
		_, err := io.Copy(io.Discard, out)
		require.NoError(t, err)
		require.NoError(t, cmd.Wait(), "Ctrl-C is how it ends")
		require.EqualValues(t, 1, told(), "a view that goes on has the clients report every second")
		srv.Mini.Del(registry.Watched("", 0))
	}
	srv.Mini.FlushAll()
	show(t, url, "top", "--once")
	show(t, url, "ls")
	cmd, out := watched(t, "top", "--every", "5s", "--url", url)
	_, err := out.ReadString('\n')
	require.NoError(t, err)
	require.Zero(t, told(), "one whose frames are rare has not")
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	_, err = io.Copy(io.Discard, out)
	require.NoError(t, err)
	require.NoError(t, cmd.Wait())

	cmd, out = watched(t, "top", "--every", "100ms", "--url", url)
	for heads := 0; heads < 3; {
		line, err := out.ReadString('\n')
		require.NoError(t, err)
		require.NotContains(t, line, "\x1b")
		if strings.HasPrefix(line, "redlatch top") {
			heads++
		}
	}
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	_, err = io.Copy(io.Discard, out)
	require.NoError(t, err)
	require.NoError(t, cmd.Wait())
}
