package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/connect"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/demo"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/exit"
)

// use runs the command inside the test.
func use(args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = execute(args, call{stdin: strings.NewReader(""), stdout: &out, stderr: &err})
	return code, out.String(), err.String()
}

func TestUsageIsShownWhereItWasAskedFor(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"-h"}, {"help"}} {
		code, stdout, stderr := use(args...)
		require.Zero(t, code)
		require.Contains(t, stdout, "Usage: redlatch <command>")
		require.Contains(t, stdout, "demo")
		require.NotContains(t, stdout, "demo-worker", "nobody starts it by hand")
		require.Empty(t, stderr)
	}
	for _, args := range [][]string{{"demo", "--help"}, {"demo", "-h"}, {"help", "demo"}} {
		code, stdout, stderr := use(args...)
		require.Zero(t, code)
		require.Contains(t, stdout, "Usage: redlatch demo")
		require.Empty(t, stderr)
	}
}

func TestTheVersionIsShown(t *testing.T) {
	for _, arg := range []string{"--version", "-version", "version"} {
		code, stdout, stderr := use(arg)
		require.Zero(t, code)
		require.Regexp(t, `^redlatch .*, go1\.\d+.*\n$`, stdout)
		require.Empty(t, stderr)
	}
}

func TestTheHelpListsTheFormsOfAURL(t *testing.T) {
	_, stdout, _ := use("demo", "--help")
	for _, form := range []string{"redis://", "rediss://", "unix://"} {
		require.Contains(t, stdout, form)
		config := demo.Config{Workers: 2, Jobs: 1, Permits: 1, Timeout: time.Minute, URL: form + "localhost/0"}
		if form == "unix://" {
			config.URL = form + "/run/redis.sock?db=1"
		}
		require.NoError(t, config.Check())
	}
}

// What fails is told once: a failed check in the table, an error below it.
func TestNothingIsPrintedTwice(t *testing.T) {
	var out bytes.Buffer
	check := demo.Check{Name: "one at a time", Detail: "2 overlaps"}
	demo.NewScreen(&out).Result(&demo.Result{
		Checks: []demo.Check{check}, Reasons: []string{"the server is gone", "one at a time: 2 overlaps"},
	})
	require.Equal(t, 1, strings.Count(out.String(), "2 overlaps"), out.String())
	require.Equal(t, 1, strings.Count(out.String(), "the server is gone"), out.String())
}

func TestMisuseIsToldInOneLine(t *testing.T) {
	tests := []struct {
		args []string
		says string
	}{
		{[]string{"dmeo"}, `did you mean "demo"?`},
		{[]string{"help", "dmeo"}, `did you mean "demo"?`},
		{[]string{"demo", "now"}, "unexpected argument now"},
		{[]string{"demo", "--worker", "3"}, `did you mean "--workers"?`},
		{[]string{"demo", "--workers", "many"}, `"many"`},
		{[]string{"demo", "--workers", "0"}, "--workers 0: give a number from 1 to 64"},
		{[]string{"demo", "--workers", "1"}, "--no-kill"},
		{[]string{"demo", "--jobs=-1"}, "--jobs -1:"},
		{[]string{"demo", "--permits", "0"}, "--permits 0"},
		{[]string{"demo", "--timeout", "10"}, "say the unit, as in 10s for seconds or 10m for minutes"},
		{[]string{"demo", "--timeout", "soon"}, "give a time with its unit, such as 90s or 2m"},
		{[]string{"demo", "--timeout", "10ms"}, "--timeout 10ms"},
		{[]string{"demo", "--url", "http://:secret@localhost"}, "redis://"},
		{[]string{"demo", "--password=secret"}, "unknown flag --password"},
		{[]string{"demo", "-o", "yaml"}, `"table","json"`},
	}
	for _, test := range tests {
		t.Run(strings.Join(test.args, " "), func(t *testing.T) {
			code, stdout, stderr := use(test.args...)
			require.Equal(t, exit.Usage, code)
			require.Empty(t, stdout)
			require.Contains(t, stderr, test.says)
			require.Contains(t, stderr, "--help")
			require.NotContains(t, stderr, "secret")
			require.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
		})
	}
	code, stdout, stderr := use()
	require.Equal(t, exit.Usage, code)
	require.Empty(t, stdout)
	require.Contains(t, stderr, "Usage: redlatch <command>")
}

func TestTheURLOfTheEnvironmentIsUsedAndTheFlagWins(t *testing.T) {
	t.Setenv(connect.URLVariable, "redis://127.0.0.1:1")
	code, _, stderr := use("demo")
	require.Equal(t, exit.Failed, code)
	require.Contains(t, stderr, "127.0.0.1:1:")

	code, _, stderr = use("demo", "--url", "redis://127.0.0.1:2")
	require.Equal(t, exit.Failed, code)
	require.Contains(t, stderr, "127.0.0.1:2:")

	t.Setenv(connect.URLVariable, "localhost")
	code, _, stderr = use("demo")
	require.Equal(t, exit.Usage, code)
	require.Contains(t, stderr, "REDLATCH_URL: give redis://")
}
