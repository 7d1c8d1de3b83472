//go:build unix

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/exit"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

// The documents of the commands that change something are what scripts rely on: members may be added, and nothing else may change.
func TestTheDocumentsOfChangesAreAsDocumented(t *testing.T) {
	srv := redistest.Process(t)
	client, owner := srv.Client(t), java+":42"
	holdAs(t, client, "orders:42", time.Hour, owner, 1)
	holdAs(t, client, "orders:43", time.Hour, owner, 1)
	document := func(args ...string) string {
		return ends(t, srv, exit.OK, append(args, "-o", "json")...)
	}
	golden(t, "unlock.json", document("unlock", "orders:42", "--owner", owner, "--reason", "x"))
	_, stdout, stderr := use("unlock", "orders:43", "--ask", "1s", "--owner", owner, "--force", "--reason", "x", "-o", "json", "--url", "redis://"+srv.Addr)
	require.Contains(t, stderr, "cannot be asked")
	golden(t, "unlock-asked.json", stdout)
	golden(t, "latch.json", document("countdown", "import", "--set", "3"))
	golden(t, "permits.json", document("permits", "mail", "--set", "3"))
	golden(t, "permits-ids.json", document("permits", "licences", "--set", "5", "--ids"))

	file := filepath.Join(t.TempDir(), "result")
	finish(t, runner(srv, "--result", file, "nightly", "-c", "exit 75"))
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	golden(t, "run.json", settled(string(text)))
	finish(t, runner(srv, "--result", file, "nightly", "-c", "kill -9 $$"))
	text, err = os.ReadFile(file)
	require.NoError(t, err)
	golden(t, "run-signalled.json", settled(string(text)))
}

// Each document that has a golden file has its schema on the page.
func TestThePageNamesTheSchemaOfEachDocument(t *testing.T) {
	page, err := os.ReadFile("../../docs/command.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(page), "### Documents\n")
	require.True(t, found)
	files, err := filepath.Glob("testdata/*.json")
	require.NoError(t, err)
	schemas := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var document struct{ Schema string }
		require.NoError(t, json.Unmarshal(text, &document), file)
		schemas[document.Schema] = true
		require.Contains(t, section, "`"+document.Schema+"`", file)
	}
	require.Len(t, schemas, 8) // those of ls, inspect, top, demo, unlock, latches, permits and run; the doctor has its own page
}
