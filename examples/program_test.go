package examples_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/test/redistest"
)

// patience bounds every wait for an example. It is a failure if it runs out, so it need not be short.
const patience = time.Minute

// A program is one process of an example.
type program struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines chan string // what it prints; closed at its end
	said  []string    // what was read of it
}

// start runs an example on a server, or on its embedded one if srv is nil.
func start(t *testing.T, srv *redistest.Server, name string, args ...string) *program {
	t.Helper()
	p := &program{t: t, cmd: exec.Command(binaries+name, args...), lines: make(chan string, 1000)}
	p.cmd.Env = os.Environ()
	if srv != nil {
		p.cmd.Env = append(p.cmd.Env, "REDLATCH_URL=redis://"+srv.Addr)
	}
	out, in, err := os.Pipe()
	require.NoError(t, err)
	p.cmd.Stdout, p.cmd.Stderr = in, in
	require.NoError(t, p.cmd.Start())
	require.NoError(t, in.Close()) // the process has its own
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // an error means that it has ended, as it should
		_ = p.cmd.Wait()
		_ = out.Close()
	})
	go func() {
		defer close(p.lines)
		for read := bufio.NewReader(out); ; {
			line, err := read.ReadString('\n')
			if line != "" {
				p.lines <- strings.TrimSuffix(line, "\n")
			}
			if err == io.EOF || err != nil {
				return
			}
		}
	}()
	return p
}

// next reads one line; it is false at the end.
func (p *program) next() bool {
	p.t.Helper()
	select {
	case line, more := <-p.lines:
		if more {
			p.said = append(p.said, line)
		}
		return more
	case <-time.After(patience):
		p.t.Fatalf("%s is silent; it said\n%s", p.cmd.Path, strings.Join(p.said, "\n"))
		return false
	}
}

// until reads up to a line that contains the text.
func (p *program) until(text string) {
	p.t.Helper()
	for p.next() {
		if strings.Contains(p.said[len(p.said)-1], text) {
			return
		}
	}
	p.t.Fatalf("%s ended without %q; it said\n%s", p.cmd.Path, text, strings.Join(p.said, "\n"))
}

// kill is kill -9. What the process printed before is in said.
func (p *program) kill() {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Kill())
	for p.next() {
	}
	_ = p.cmd.Wait()
}

// finish reads to the end and requires that the example thinks well of itself.
func (p *program) finish() []string {
	p.t.Helper()
	for p.next() {
	}
	require.NoError(p.t, p.cmd.Wait(), strings.Join(p.said, "\n"))
	return p.said
}

// count is how many lines contain the text.
func count(lines []string, text string) (n int) {
	for _, line := range lines {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// before are the lines above the first one that contains the text.
func before(lines []string, text string) []string {
	i := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, text) })
	return lines[:max(i, 0)]
}
