package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/exit"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

// A night is one time at which the crontabs of three hosts have the same line. Their clocks differ, so the line begins at each of them at
// its own time. The job is over long before the last of them begins. In a part of the nights one host's redlatch is killed.
type night struct {
	skew   [hosts]time.Duration // from the first to this one
	work   time.Duration        // what the job takes
	victim int                  // whose redlatch is killed; -1: none is
	moment time.Duration        // from when that one has begun
	waits  bool                 // the lines wait for longer than a lease, so that another host does what a dead one has not begun
}

const (
	hosts     = 3
	cronLease = 2 * time.Second
	mostSkew  = 3 * time.Second
)

// line is what the crontabs have. The lock stays taken for longer than the clocks differ, than the lease, and than the wait.
func (c night) line() (flags []string, atLeast time.Duration) {
	if c.waits {
		return []string{"-q", "-w", "3", "--at-least", "9s"}, 9 * time.Second
	}
	return []string{"-n", "--at-least", "4s"}, 4 * time.Second
}

// nightOf is the n-th night.
func nightOf(n int) night {
	random := rand.New(rand.NewPCG(uint64(n), 28))
	within := func(d time.Duration) time.Duration { return time.Duration(random.Int64N(int64(d))) }
	c := night{victim: -1, waits: n%8 == 1, work: within(300 * time.Millisecond)}
	first := random.IntN(hosts)
	for host := range c.skew {
		if host != first {
			c.skew[host] = within(mostSkew)
		}
	}
	if n%2 == 1 {
		c.victim, c.moment = first, within(400*time.Millisecond)
		if n%4 == 1 { // most kills come while the run starts
			c.moment = within(60 * time.Millisecond)
		}
	}
	return c
}

// A result is what a night has shown.
type result struct {
	begun int // how often the job has
	lines [hosts]*exec.Cmd
	held  bool // the lock was taken when the victim was killed
	shown bool // the lines began within the time for which the lock stays taken
	err   error
}

// play has the hosts run their lines.
func (c night) play(t *testing.T, srv *redistest.Server, name string, flags []string, atLeast time.Duration) (r result) {
	file := filepath.Join(t.TempDir(), "begun")
	if r.err = os.WriteFile(file, nil, 0o600); r.err != nil {
		return r
	}
	job := fmt.Sprintf("echo begun >>%s; exec sleep %.3f", file, c.work.Seconds())
	var all sync.WaitGroup
	start := time.Now()
	for host := range hosts {
		cmd := runner(srv, slices.Concat(flags, []string{"--lease", cronLease.String(), name, "-c", job})...)
		r.lines[host] = cmd
		all.Go(func() {
			time.Sleep(time.Until(start.Add(c.skew[host])))
			if cmd.Start() != nil {
				return // the line has no state then
			}
			if host == c.victim {
				time.Sleep(c.moment)
				r.held = srv.Client(t).Exists(context.Background(), name).Val() == 1
				_ = cmd.Process.Signal(syscall.SIGKILL) // it may have ended
			}
			_ = cmd.Wait() // the exit code is looked at by judge
		})
	}
	all.Wait()
	r.shown = time.Since(start) < atLeast // else the last line may have begun later than the clocks differ
	text, err := os.ReadFile(file)
	r.begun, r.err = bytes.Count(text, []byte("\n")), err
	return r
}

// judge looks at how the lines ended, and tells whether the victim was killed.
func (r *result) judge(t *testing.T, c night) (killed bool) {
	t.Helper()
	for host, cmd := range r.lines {
		require.NotNil(t, cmd.ProcessState, "the line of host %d was not started", host)
		code := cmd.ProcessState.ExitCode()
		if host == c.victim && code < 0 {
			killed = true
			continue
		}
		require.Contains(t, []int{0, exit.Busy}, code, "%s", cmd.Stderr)
		require.Empty(t, cmd.Stderr.(*bytes.Buffer).String(), "a line is a mail")
	}
	return killed
}

// No night has the job begin twice. One without it is a night of which the run was killed when it had the lock and had not begun the job.
func TestCronOnThreeHostsRunsAJobOnceANight(t *testing.T) {
	const together = 10
	srv := redistest.Process(t)
	nights := make([]night, redistest.Rounds(6, 100))
	results := make([]result, len(nights))
	room := make(chan struct{}, together)
	var all sync.WaitGroup
	for n := range nights {
		nights[n] = nightOf(n)
		all.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			for try := 0; try < 20 && !results[n].shown; try++ {
				flags, atLeast := nights[n].line()
				results[n] = nights[n].play(t, srv, fmt.Sprintf("nightly-%d-%d", n, try), flags, atLeast)
			}
		})
	}
	all.Wait()
	var without, kills int
	for n, r := range results {
		require.NoError(t, r.err)
		require.True(t, r.shown, "the machine is so busy that the lines begin too late")
		killed := r.judge(t, nights[n])
		if killed {
			kills++
		}
		require.LessOrEqual(t, r.begun, 1, "%+v %+v", nights[n], r)
		if r.begun == 0 {
			without++
			require.True(t, killed && r.held, "%+v %+v", nights[n], r)
		}
	}
	t.Logf("%d nights, in %d of which the run was killed; in %d it was killed between the grant and the job", len(nights), kills, without)
}

// What the nights are for: without the flag the job is over when the next host's clock says that it is time.
func TestAControlOfCronWithoutAtLeastRunsTheJobAgain(t *testing.T) {
	srv := redistest.Process(t)
	c := night{skew: [hosts]time.Duration{0, 400 * time.Millisecond, 800 * time.Millisecond}, work: 200 * time.Millisecond, victim: -1}
	for try := 0; ; try++ {
		r := c.play(t, srv, fmt.Sprint("control-", try), []string{"-n"}, time.Minute)
		require.NoError(t, r.err)
		if r.begun > 1 {
			return
		}
		require.Less(t, try, 20, "the machine is so busy that the lines come together")
	}
}
