package main

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/demo"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/exit"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/terminal"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/views"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "%s; -update writes it anew", name)
}

// show runs a command that has to succeed.
func show(t *testing.T, url string, args ...string) string {
	t.Helper()
	code, stdout, stderr := use(append(args, "--url", url)...)
	require.Zero(t, code, stderr)
	require.Empty(t, stderr)
	return stdout
}

// scenes are the commands of which the output is documented.
var scenes = map[string][]string{
	"ls.txt": {"ls"}, "ls.json": {"ls", "-o", "json"},
	"top.txt": {"top", "--once"}, "top.json": {"top", "--once", "-o", "json"},
	"inspect.txt": {"inspect", "orders:42"}, "inspect.json": {"inspect", "orders:42", "-o", "json"},
	"inspect-dead.txt": {"inspect", "invoices"}, "inspect-free.txt": {"inspect", "orders:43"},
	"inspect-readers.txt": {"inspect", "prices"}, "inspect-mail.txt": {"inspect", "mail"}, "inspect-import.txt": {"inspect", "import"},
	"inspect-licences.txt": {"inspect", "licences"}, "inspect-evil.txt": {"inspect", "evil\x1b[2J\u202e"},
}

func TestWhatTheCommandsShowIsAsDocumented(t *testing.T) {
	each(t, func(t *testing.T, srv *redistest.Server) {
		owner := scene(t, srv.Client(t))
		for name, args := range scenes {
			golden(t, name, normal(owner, show(t, "redis://"+srv.Addr, args...)))
		}
	})
}

func TestACommandSeesAllMastersOfACluster(t *testing.T) {
	servers := redistest.Cluster(t, 3, 0)
	owner := scene(t, servers.Client(t))
	url := "redis+cluster://" + servers.Addrs()[0]
	for name, args := range scenes {
		golden(t, name, normal(owner, show(t, url, args...)))
	}
}

// On a terminal of 80 columns nothing of who holds it and whether that is dead is cut.
func TestWhatTheCommandsShowOn80ColumnsIsAsDocumented(t *testing.T) {
	srv := redistest.Process(t)
	owner := scene(t, srv.Client(t))
	out := &terminal.Output{Width: 80}
	ls, err := views.List(t.Context(), srv.Client(t), srv.Addr, nil)
	require.NoError(t, err)
	top, err := (&views.Watch{Client: srv.Client(t), Server: "127.0.0.1:6379"}).Frame(t.Context())
	require.NoError(t, err)
	for name, lines := range map[string][]string{"ls-80.txt": ls.Lines(out), "top-80.txt": top.Lines(out)} {
		for _, line := range lines {
			require.LessOrEqual(t, utf8.RuneCountInString(line), 80, line)
		}
		golden(t, name, normal(owner, strings.Join(lines, "\n")+"\n"))
	}
}

// What a demo does takes seconds and differs from run to run, so this one has not taken place.
func TestTheResultOfADemoIsAsDocumented(t *testing.T) {
	srv := redistest.Mini(t)
	owner := scene(t, srv.Client(t))
	ls, err := views.List(t.Context(), srv.Client(t), srv.Addr, nil)
	require.NoError(t, err)
	i := slices.IndexFunc(ls.Objects, func(o views.Object) bool { return o.Name == "invoices" })
	text, err := views.JSON(&demo.Result{
		Schema: demo.Schema, OK: true, Server: srv.Addr, ID: "f3k7q2xz", Workers: 4, Jobs: 24, Permits: 2, Seconds: 4.812,
		Checks:  []demo.Check{{Name: "every job done exactly once", OK: true, Detail: "24 of 24"}},
		Numbers: demo.Numbers{JobsDone: 24, JobsTaken: 25, Retaken: 1, MostInside: 2, CriticalSections: 49, Victim: 3, TakeoverMS: 1987, PermitsAtEnd: 2, KeysRemoved: 9},
		Notes:   []string{"Worker 3 was killed."},
		Saw:     &demo.Glance{When: "1.0 s after the kill", Objects: ls.Objects[i : i+1]},
	}, true)
	require.NoError(t, err)
	golden(t, "demo.json", normal(owner, string(text)))
}

func TestEachFormatOfADocumentIsNamedInIt(t *testing.T) {
	srv := redistest.Mini(t)
	for schema, args := range map[string][]string{
		"redlatch.ls/1": {"ls"}, "redlatch.inspect/1": {"inspect", "x"}, "redlatch.top/1": {"top", "--once"},
	} {
		var document struct{ Schema string }
		require.NoError(t, json.Unmarshal([]byte(show(t, "redis://"+srv.Addr, append(args, "-o", "json")...)), &document))
		require.Equal(t, schema, document.Schema)
	}
}

func TestTheExitCodeTellsWhatIsThere(t *testing.T) {
	each(t, func(t *testing.T, srv *redistest.Server) {
		client, url := srv.Client(t), "redis://"+srv.Addr
		require.NoError(t, client.Set(t.Context(), "number", 3, 0).Err())
		require.NoError(t, client.RPush(t.Context(), "list", 3).Err())
		for _, c := range []struct {
			args []string
			code int
			says string
		}{
			{[]string{"inspect", "nothing"}, exit.OK, ""},
			{[]string{"inspect", "number"}, exit.WrongKind, "say which kind it is, as with --kind semaphore"},
			{[]string{"inspect", "number", "--kind", "semaphore"}, exit.OK, ""},
			{[]string{"inspect", "number", "--kind", "lock"}, exit.WrongKind, "not a lock"},
			{[]string{"inspect", "list"}, exit.WrongKind, "list"},
			{[]string{"inspect", "list", "--kind", "nonsense"}, exit.Usage, "the kinds are lock, fair_lock"},
			{[]string{"inspect", ""}, exit.Usage, "name is empty"},
			{[]string{"inspect"}, exit.Usage, "<name>"},
			{[]string{"ls", "--every", "1ms", "--watch"}, exit.Usage, "--every 1ms"},
		} {
			code, stdout, stderr := use(append(c.args, "--url", url)...)
			require.Equal(t, c.code, code, "%v %s", c.args, stderr)
			require.Contains(t, stderr, c.says)
			require.Equal(t, code == exit.OK, stdout != "")
		}
	})
	for _, args := range [][]string{{"ls"}, {"inspect", "x"}, {"top", "--once"}, {"top"}} {
		code, stdout, stderr := use(append(args, "--url", "redis://127.0.0.1:1")...)
		require.Equal(t, exit.Unavailable, code)
		require.Empty(t, stdout)
		require.Contains(t, stderr, "127.0.0.1:1")
		require.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
	}
}

// What the pages show is what a run has shown.
func TestThePagesShowWhatARunHasShown(t *testing.T) {
	for page, shown := range map[string][]string{
		"command.md": {"ls.txt", "inspect.txt", "top.txt"}, "operating.md": {"inspect-dead.txt"},
	} {
		text, err := os.ReadFile("../../docs/" + page)
		require.NoError(t, err)
		for _, name := range shown {
			want, err := os.ReadFile(filepath.Join("testdata", name))
			require.NoError(t, err)
			require.Contains(t, string(text), "```\n"+string(want)+"```\n", "%s of %s", name, page)
		}
	}
}
