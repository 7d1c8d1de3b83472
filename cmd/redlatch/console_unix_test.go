//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/connect"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/exit"
	"github.com/redlatch/redlatch/internal/registry"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/rlock"
)

// A session is a block of a page that shows a shell: lines that begin with "$ " are commands, and the others are what they write.
var session = regexp.MustCompile("(?s)```console\n(.*?)```\n")

// What differs from run to run beside what [normal] knows, and what the pages have in its place.
var ofARun = []struct {
	is *regexp.Regexp
	as string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}:\d+`), "6f1c0e52-9a3b-8d47-b1e0-5a2f7c9d3e81:1"},
	{regexp.MustCompile(`"waited_ms":\d+`), `"waited_ms":1`},
	{regexp.MustCompile(`"held_ms":\d+`), `"held_ms":2007`},
	{regexp.MustCompile(`rtt_p99=[0-9.]+ms`), "rtt_p99=0.41ms"},
	{regexp.MustCompile(`\S+@\S+ took it from`), "ada@ops-1 took it from"},
	{regexp.MustCompile(`at \d\d:\d\d:\d\d: `), "at 03:12:07: "},
	{regexp.MustCompile(`last seen \d+ s ago`), "last seen 23 s ago"},
	{regexp.MustCompile(`(memory|clients)=[0-9.]+%`), "${1}=0.1%"},
}

// A job is what a page has a lock held for.
const job = "#!/bin/sh\necho 412 invoices were sent\n"

// enact gives the commands of a session to one shell, and answers the session with what they have written.
func enact(t *testing.T, srv *redistest.Server, text string) string {
	t.Helper()
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "job"), []byte(job), 0o755))
	script := "exec 2>&1\n"
	for line := range strings.Lines(text) {
		if command, is := strings.CutPrefix(line, "$ "); is {
			script += "cat <<'END'\n" + line + "END\n" + command
		}
	}
	shell := exec.Command("sh", "-c", script)
	shell.Dir = folder
	shell.Env = append(os.Environ(), "PATH="+filepath.Dir(binary)+":"+os.Getenv("PATH"), connect.URLVariable+"=redis://"+srv.Addr)
	out, err := shell.Output()
	if ended := new(exec.ExitError); err != nil {
		require.ErrorAs(t, err, &ended) // the last command may be one that fails
	}
	return settled(string(out))
}

// settled puts in the place of what differs from run to run what documentation may show. The process that has died keeps its name.
func settled(text string) string {
	text = strings.ReplaceAll(text, dead, "the dead")
	for _, differs := range ofARun {
		text = differs.is.ReplaceAllString(text, differs.as)
	}
	return ports.ReplaceAllString(strings.ReplaceAll(text, "the dead", dead), "127.0.0.1:6379")
}

// The sessions of a page are those of a new user, one after the other on a server that has two locks of a process that has died. On a busy
// machine the doctor may find that the machine is slow, so a page is tried three times.
func TestThePagesShowWhatAShellHasShown(t *testing.T) {
	for _, page := range []string{"command.md", "doctor.md"} {
		t.Run(page, func(t *testing.T) {
			file := filepath.Join("../../docs", page)
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Regexp(t, session, string(text))
			var got string
			for try := 0; try < 3 && got != string(text) && (got == "" || !*update); try++ {
				srv := redistest.Process(t)
				holdAs(t, srv.Client(t), "invoices", time.Hour, dead+":7", 1)
				holdAs(t, srv.Client(t), "orders:42", time.Hour, dead+":8", 1)
				if page == "command.md" { // the doctor finds a holder that is silent
					enter(t, srv.Client(t), dead, 23*time.Second, registry.About{Host: "batch-1", PID: 1, Program: "invoicer", Language: "go"},
						registry.Thing{Kind: "lock", Key: "invoices", Holds: 1, HeldSince: 1, Owners: []registry.Owner{{ID: "7", Since: 1}}})
				}
				got = session.ReplaceAllStringFunc(string(text), func(block string) string {
					return "```console\n" + enact(t, srv, session.FindStringSubmatch(block)[1]) + "```\n"
				})
			}
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
				return
			}
			require.Equal(t, string(text), got, "-update writes it anew")
		})
	}
}

// docs/command.md shows the error that a holder gets whose lock was freed by force.
func TestThePageShowsWhatAHolderIsToldThatWasFreedByForce(t *testing.T) {
	srv := redistest.Mini(t)
	err := forcedOut(t, srv, "invoices", "ada@ops-1", "the import hangs")
	shown := regexp.MustCompile(`by [0-9a-f-]{36}:\d+`).ReplaceAllString(err.Error(), "by 2222...:7")
	shown = regexp.MustCompile(`at \d\d:\d\d:\d\d\.\d{3}`).ReplaceAllString(shown, "at 03:12:09.114")
	shown = regexp.MustCompile(`at \d\d:\d\d:\d\d:`).ReplaceAllString(shown, "at 03:12:07:")
	page, failed := os.ReadFile("../../docs/command.md")
	require.NoError(t, failed)
	require.Contains(t, string(page), "```\n"+shown+"\n```\n")
}

// forcedOut takes a lock, has the command free it, and answers what its Unlock says.
func forcedOut(t *testing.T, srv *redistest.Server, name, by, why string) error {
	t.Helper()
	hold, err := rlock.New(srv.Client(t), name).Lock(t.Context())
	require.NoError(t, err)
	ends(t, srv, exit.OK, "unlock", name, "--owner", hold.Owner(), "--by", by, "--reason", why)
	err = hold.Unlock(t.Context())
	require.Error(t, err)
	return err
}
