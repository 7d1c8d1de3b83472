//go:build unix

package main

import (
	"bytes"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/exit"
	"github.com/redlatch/redlatch/internal/test/faultproxy"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/rlock"
)

// What people read at night: who has the lock, where, and why the server does not answer.

func TestARunNamesTheHolderWhereAPersonWaitsAndIsSilentInACrontab(t *testing.T) {
	srv := redistest.Process(t)
	begin(t, runner(srv, "--label", "blue", "a", "-c", "echo; exec sleep 100"))
	const holder = `held by \S+ redlatch pid \d+ \(blue\) since \d\.\d s, for another \d\d s unless renewed\n$`
	for args, want := range map[string]string{
		"-n a":        "^$", // as flock is
		"-w 0 a":      "^$",
		"-q -w 0.1 a": "^$",
		"-w 0.1 a":    "^redlatch run: a is taken, and the wait of 100ms is over: " + holder,
	} {
		code, _, stderr := finish(t, runner(srv, append(strings.Fields(args), "--", "true")...))
		require.Equal(t, exit.Busy, code)
		require.Regexp(t, want, stderr, args)
	}

	waiting := runner(srv, "-w", "2.5", "a", "true")
	code, _, stderr := finish(t, waiting)
	require.Equal(t, exit.Busy, code)
	said := strings.SplitAfter(stderr, "\n")
	require.Len(t, said, 3, stderr)
	require.Regexp(t, "^redlatch run: waiting for a: "+holder, said[0])
}

func TestARunThatWaitsForADeadServerSaysSoInTime(t *testing.T) {
	code, _, stderr := finish(t, runner(&redistest.Server{Addr: "127.0.0.1:1"}, "-w", "3", "a", "true"))
	require.Equal(t, exit.Unavailable, code, stderr)
	require.True(t, strings.HasPrefix(stderr, "redlatch run: waiting for a: dial tcp 127.0.0.1:1: connect: connection refused; it is tried again\n"), stderr)

	code, _, stderr = finish(t, runner(&redistest.Server{Addr: "127.0.0.1:1"}, "-q", "-w", "2.5", "a", "true"))
	require.Equal(t, exit.Unavailable, code, stderr)
	require.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
}

func TestALossNamesTheServerAndTheCause(t *testing.T) {
	srv := redistest.Process(t)
	for what, c := range map[string]struct {
		harm func(*faultproxy.Proxy)
		says string
	}{
		"refused": {func(p *faultproxy.Proxy) { p.Refuse(true); p.CutAll() }, `: .*(EOF|reset|refused|closed)`},
		"silent":  {func(p *faultproxy.Proxy) { p.Hole(true, true) }, `: (the server is silent|i/o timeout)`},
	} {
		proxy := faultproxy.New(t, srv.Addr)
		cmd := runner(srv, "--lease", "4s", "--url", "redis://"+proxy.Addr(), what, "-c", "echo; exec sleep 100")
		begin(t, cmd)
		c.harm(proxy)
		require.Error(t, cmd.Wait())
		require.Equal(t, exit.Lost, cmd.ProcessState.ExitCode())
		said := cmd.Stderr.(*bytes.Buffer).String()
		require.Regexp(t, `the lock is lost, and the command is ended: .*no renewal was answered for \d+.*`+c.says, said)
		require.Contains(t, said, proxy.Addr())
	}
}

func TestALossByForceSaysWhoDidIt(t *testing.T) {
	srv := redistest.Process(t)
	cmd := runner(srv, "--lease", "2s", "a", "-c", "echo; exec sleep 100")
	begin(t, cmd)
	info, err := rlock.New(srv.Client(t), "a").Inspect(t.Context())
	require.NoError(t, err)
	ends(t, srv, exit.OK, "unlock", "a", "--owner", info.Holders[0].Owner, "--by", "ada", "--reason", "it hangs")
	require.Error(t, cmd.Wait())
	require.Equal(t, exit.Lost, cmd.ProcessState.ExitCode())
	require.Regexp(t, `it was freed by force by ada at \S+: it hangs`, cmd.Stderr)
	require.Contains(t, cmd.Stderr.(*bytes.Buffer).String(), srv.Addr)
}

func TestMaxHoldEndsTheCommandAndKillsWhatIgnoresThat(t *testing.T) {
	srv := redistest.Process(t)
	code, stdout, stderr := finish(t, runner(srv, "--max-hold", "1s", "a", "-c", "trap 'echo asked; exit 0' TERM; while :; do sleep 0.01; done"))
	require.Equal(t, exit.TooLong, code, stderr)
	require.Equal(t, "asked\n", stdout)
	require.Contains(t, stderr, "1s of --max-hold are over, and the command is ended")
	start := time.Now()
	code, _, stderr = finish(t, runner(srv, "--max-hold", "1s", "--kill-after", "100ms", "a", "-c", "trap '' TERM; while :; do sleep 0.01; done"))
	require.Equal(t, exit.TooLong, code, stderr)
	require.Less(t, time.Since(start), time.Minute)
	locked, err := rlock.New(srv.Client(t), "a").IsLocked(t.Context())
	require.NoError(t, err)
	require.False(t, locked)
	code, _, _ = finish(t, runner(srv, "--max-hold", "1s", "a", "-c", "exit 3"))
	require.Equal(t, 3, code)
	for _, args := range []string{"--max-hold 1ms", "--at-least 1ms", "--at-least 5s -N 2"} {
		code, _, stderr = finish(t, runner(srv, append(strings.Fields(args), "a", "true")...))
		require.Equal(t, exit.Usage, code, stderr)
	}
}

// The lease that is kept is as long whatever becomes of the run.
func TestAtLeastKeepsTheLockAfterTheCommandAndAfterAKill(t *testing.T) {
	srv := redistest.Process(t)
	client := srv.Client(t)
	left := func(name string) time.Duration {
		ttl, err := client.PTTL(t.Context(), name).Result()
		require.NoError(t, err)
		return ttl
	}
	code, _, stderr := finish(t, runner(srv, "--at-least", "10m", "--lease", "4s", "a", "-c", "exit 3"))
	require.Equal(t, 3, code, stderr)
	require.InDelta(t, 10*time.Minute, left("a"), float64(30*time.Second))
	code, _, _ = finish(t, runner(srv, "-n", "a", "true"))
	require.Equal(t, exit.Busy, code)

	cmd := runner(srv, "--at-least", "10m", "--lease", "4s", "b", "-c", "echo; exec sleep 100")
	begin(t, cmd)
	require.NoError(t, cmd.Process.Signal(syscall.SIGKILL))
	_ = cmd.Wait() // it was killed
	require.InDelta(t, 10*time.Minute, left("b"), float64(30*time.Second))

	code, _, _ = finish(t, runner(srv, "-x", "--at-least", "2s", "--lease", "2s", "c", "true"))
	require.Zero(t, code)
	require.Positive(t, left("c"))
}

// Of a lock that is kept it is told whose it was, that its program has ended, and that nothing is wrong.
func TestALockThatIsKeptIsShownAsKept(t *testing.T) {
	srv := redistest.Process(t)
	url := "redis://" + srv.Addr
	code, _, stderr := finish(t, runner(srv, "--at-least", "10m", "--label", "blue", "nightly", "true"))
	require.Zero(t, code, stderr)
	require.Regexp(t, `(?m)^nightly +lock +\S+ redlatch pid \d+ \(blue\) +\d\.\d s +10 min\n +kept by WithAtLeast, its program has ended$`, show(t, url, "ls"))
	require.Regexp(t, `0\.00 +nightly +lock +kept: \S+ redlatch pid`, show(t, url, "top", "--once"))
	require.NotContains(t, show(t, url, "ls", "--dead"), "nightly")
	inspect := show(t, url, "inspect", "nightly")
	require.Contains(t, inspect, "kept by WithAtLeast, its program has ended")
	require.Regexp(t, `next +Wait for \d+ min: the work of \S+ redlatch pid \d+ \(blue\) is done`, inspect)
	code, _, stderr = finish(t, runner(srv, "-w", "0.1", "nightly", "true"))
	require.Equal(t, exit.Busy, code)
	require.Regexp(t, `kept by WithAtLeast for another \S+ min; it was held by \S+ redlatch pid \d+ \(blue\), which has ended\n$`, stderr)
	info, err := rlock.New(srv.Client(t), "nightly").Inspect(t.Context())
	require.NoError(t, err)
	require.Contains(t, ends(t, srv, exit.Failed, "unlock", "nightly", "--ask", "1s", "--reason", "x"), "its program has ended")
	require.Contains(t, ends(t, srv, exit.OK, "unlock", "nightly", "--owner", info.Holders[0].Owner, "--reason", "x"), "which had ended and kept it by WithAtLeast")
	require.Equal(t, "Nothing is held and nobody waits.\n", show(t, url, "ls"), "what it has said is over with the lease")
}

// So it is of a program that lives and has given the lock back.
func TestALockThatAProgramHasGivenBackIsShownAsKept(t *testing.T) {
	t.Setenv("REDLATCH_REGISTRY", "on")
	srv := redistest.Process(t)
	url := "redis://" + srv.Addr
	hold, err := rlock.New(srv.Client(t), "nightly", redlatch.WithAtLeast(10*time.Minute)).Lock(t.Context())
	require.NoError(t, err)
	require.NoError(t, hold.Unlock(t.Context()))
	redistest.Eventually(t, "the entry", func() bool {
		return strings.Contains(show(t, url, "ls"), "kept by WithAtLeast, its program has given it back")
	})
	require.Regexp(t, `kept: \S+ \S+ pid`, show(t, url, "top", "--once"))
	require.NotContains(t, show(t, url, "ls", "--dead"), "nightly")
	inspect := show(t, url, "inspect", "nightly")
	require.Contains(t, inspect, "kept by WithAtLeast, its program has given it back")
	require.NotContains(t, inspect, "alive")
	require.Regexp(t, `next +Wait for \d+ min: the work of .* is done`, inspect)
	code, _, stderr := finish(t, runner(srv, "-w", "0.1", "nightly", "true"))
	require.Equal(t, exit.Busy, code)
	require.Regexp(t, `kept by WithAtLeast for another \S+ min; it was held by .*, which has given it back\n$`, stderr)
	require.Contains(t, ends(t, srv, exit.Failed, "unlock", "nightly", "--ask", "1s", "--reason", "x"), "its program has given it back already")
	require.Contains(t, ends(t, srv, exit.OK, "unlock", "nightly", "--owner", hold.Owner(), "--reason", "x"), "which had given it back and kept it by WithAtLeast")
}

// A renewal of the shorter lease does not take back the longer one.
func TestARenewalLeavesWhatAtLeastHasGiven(t *testing.T) {
	srv := redistest.Process(t)
	cmd := runner(srv, "--at-least", "10m", "--lease", "2s", "a", "-c", "echo; exec sleep 100")
	begin(t, cmd)
	require.Never(t, func() bool { return srv.Client(t).PTTL(t.Context(), "a").Val() < 9*time.Minute }, 3*time.Second, 100*time.Millisecond)
}
