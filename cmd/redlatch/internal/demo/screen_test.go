package demo

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func show(s *Screen, r *Result) {
	s.Begin(&Config{Workers: 4, Jobs: 24, Permits: 2}, "embedded")
	s.Tell(0, "it begins")
	s.Progress(Status{At: time.Second, Done: 6, Inside: 2, Holder: 3, Dead: true})
	s.Progress(Status{At: 2 * time.Second, Done: 12})
	s.Tell(3*time.Second, "it ends")
	s.Result(r)
}

func TestWithoutATerminalThereAreOnlyPlainLines(t *testing.T) {
	var out bytes.Buffer
	c, r := one()
	checks, _ := judge(c, replay(script(t, proper)), r)
	show(NewScreen(&out), &Result{OK: true, Seconds: 5, Checks: checks})
	text := out.String()
	require.NotContains(t, text, "\x1b")
	require.NotContains(t, text, "\r")
	require.Contains(t, text, "12 of 24 jobs done")
	require.Contains(t, text, "All of it holds in 5.0 s.")
	require.Contains(t, text, "ok     every job done exactly once   1 of 1\n")
	for line := range strings.Lines(text) {
		require.LessOrEqual(t, utf8.RuneCountInString(line), 81, line)
	}
}

func TestOnATerminalWhatStaysIsNotDrawnBehindTheLiveLine(t *testing.T) {
	var out bytes.Buffer
	show(&Screen{out: &out, live: true, symbol: true}, &Result{OK: true})
	_, after, found := strings.Cut(out.String(), "12/24 done")
	require.True(t, found)
	live, _, found := strings.Cut(after, "it ends")
	require.True(t, found)
	require.Contains(t, live, "\r\x1b[K", "the live line is erased first")
}

func TestAFailedCheckIsNamedAmongTheReasons(t *testing.T) {
	var out bytes.Buffer
	r := &Result{Checks: []Check{{"no update of the ledger lost", false, "3 of 4"}, {"nothing left in Redis", true, "5 removed"}}}
	r.conclude(nil)
	require.False(t, r.OK)
	show(NewScreen(&out), r)
	require.Contains(t, out.String(), "FAILED no update of the ledger lost  3 of 4\n")
	require.Contains(t, out.String(), "\n  FAILED no update of the ledger lost  3 of 4\n")
	require.Contains(t, out.String(), "\n  It does not hold.\n", "and not the failed check again")
	require.NotContains(t, out.String(), "All of it holds")
}

func TestAnInterruptedRunHasNotFailed(t *testing.T) {
	var out bytes.Buffer
	r := &Result{Interrupted: true, Checks: []Check{{"every job done exactly once", false, "3 of 4"}}}
	r.conclude(nil)
	require.False(t, r.OK, "but it is not a success either")
	require.Equal(t, []string{"interrupted"}, r.Reasons)
	show(NewScreen(&out), r)
	require.NotContains(t, out.String(), "FAILED")
	require.Contains(t, out.String(), "Interrupted")
}
