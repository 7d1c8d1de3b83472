package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// use runs the command inside the test.
func use(args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = run(call{args: args, stdin: strings.NewReader(""), stdout: &out, stderr: &err})
	return code, out.String(), err.String()
}

func TestUsageIsShownWhereItWasAskedFor(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"-h"}, {"help"}} {
		code, stdout, stderr := use(args...)
		require.Zero(t, code)
		require.Contains(t, stdout, "usage: redlatch <command>")
		require.Contains(t, stdout, "demo")
		require.NotContains(t, stdout, workerCommand, "nobody starts it by hand")
		require.Empty(t, stderr)
	}
	for _, args := range [][]string{{"demo", "--help"}, {"demo", "-h"}, {"help", "demo"}} {
		code, stdout, stderr := use(args...)
		require.Zero(t, code)
		require.Contains(t, stdout, "usage: redlatch demo")
		require.Empty(t, stderr)
	}
}

func TestMisuseIsToldInOneLine(t *testing.T) {
	tests := []struct {
		args []string
		says string
	}{
		{[]string{"dmeo"}, `no command "dmeo"`},
		{[]string{"help", "dmeo"}, `no command "dmeo"`},
		{[]string{"demo", "now"}, `"now" is not a flag`},
		{[]string{"demo", "--worker", "3"}, "-worker"},
		{[]string{"demo", "--workers", "many"}, `"many"`},
		{[]string{"demo", "--workers", "0"}, "--workers 0: give a number from 1 to 64"},
		{[]string{"demo", "--workers", "1"}, "--no-kill"},
		{[]string{"demo", "--jobs", "-1"}, "--jobs -1"},
		{[]string{"demo", "--permits", "0"}, "--permits 0"},
		{[]string{"demo", "--timeout", "10"}, "timeout"},
		{[]string{"demo", "--timeout", "10ms"}, "--timeout 10ms"},
		{[]string{"demo", "--url", "http://:secret@localhost"}, "redis://"},
	}
	for _, test := range tests {
		t.Run(strings.Join(test.args, " "), func(t *testing.T) {
			code, stdout, stderr := use(test.args...)
			require.Equal(t, exitUsage, code)
			require.Empty(t, stdout)
			require.Contains(t, stderr, test.says)
			require.Contains(t, stderr, "--help")
			require.NotContains(t, stderr, "secret")
			require.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
		})
	}
	code, stdout, stderr := use()
	require.Equal(t, exitUsage, code)
	require.Empty(t, stdout)
	require.Contains(t, stderr, "usage: redlatch <command>")
}

func TestTheURLOfTheEnvironmentIsUsedAndTheFlagWins(t *testing.T) {
	t.Setenv(urlVariable, "redis://127.0.0.1:1")
	code, _, stderr := use("demo")
	require.Equal(t, exitFailed, code)
	require.Contains(t, stderr, "127.0.0.1:1:")

	code, _, stderr = use("demo", "--url", "redis://127.0.0.1:2")
	require.Equal(t, exitFailed, code)
	require.Contains(t, stderr, "127.0.0.1:2:")

	t.Setenv(urlVariable, "localhost")
	code, _, stderr = use("demo")
	require.Equal(t, exitUsage, code)
	require.Contains(t, stderr, "REDLATCH_URL: give redis://")
}
