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
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/exit"
	"github.com/redlatch/redlatch/internal/test/faultproxy"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/rlock"
)

// scheduleLease is the lease of the runs.
const scheduleLease = 2 * time.Second

// A schedule has two runs of one lock. A fault comes while the first has it. Its child, a grandchild and one in a session of
// its own append to one file all the time. As soon as the second run's child has written, nothing of the first may write any
// more. What counts is the order of the lines in the file, so that a busy machine cannot make a schedule fail.
type schedule struct {
	fault  fault
	first  action
	moment time.Duration // from the first line of the first run to the fault
}

// A fault is what happens to the first run.
type fault struct {
	name string
	do   func(s *stage)

	// What the lock cannot prevent is counted apart.
	forced bool // the lock was taken away at the server: the command ends when that is noticed
	double bool // holder and guard were killed at once: what the child has started lives on
	alive  bool // redlatch itself is not killed, so that it reports the loss
}

var faults = []fault{
	{name: "kill -9 holder", do: func(s *stage) { s.kill(s.holder, syscall.SIGKILL) }},
	{name: "kill -9 guard", do: func(s *stage) { s.kill(s.guard, syscall.SIGKILL) }},
	{name: "kill -9 both", double: true, do: func(s *stage) {
		s.kill(s.holder, syscall.SIGSTOP) // neither may react to the end of the other
		s.kill(s.guard, syscall.SIGKILL)
		s.kill(s.holder, syscall.SIGKILL)
	}},
	{name: "STOP holder", do: func(s *stage) { s.kill(s.holder, syscall.SIGSTOP) }},
	{name: "STOP guard, cut", alive: true, do: func(s *stage) { s.kill(s.guard, syscall.SIGSTOP); s.cut() }},
	{name: "STOP guard, silence", alive: true, do: func(s *stage) { s.kill(s.guard, syscall.SIGSTOP); s.silence() }},
	{name: "STOP child, kill -9 holder", do: func(s *stage) { s.kill(s.child, syscall.SIGSTOP); s.kill(s.holder, syscall.SIGKILL) }},
	{name: "STOP child, cut", alive: true, do: func(s *stage) { s.kill(s.child, syscall.SIGSTOP); s.cut() }},
	{name: "cut", alive: true, do: (*stage).cut},
	{name: "silent server", alive: true, do: (*stage).silence},
	{name: "force", forced: true, alive: true, do: func(s *stage) {
		_, err := rlock.New(s.server.Client(s.t), s.name).ForceUnlock(context.Background())
		require.NoError(s.t, err)
	}},
	{name: "DEL", forced: true, alive: true, do: func(s *stage) {
		require.NoError(s.t, s.server.Client(s.t).Del(context.Background(), s.name).Err())
	}},
}

// A stage is one schedule being played.
type stage struct {
	t                    *testing.T
	server               *redistest.Server
	proxy                *faultproxy.Proxy
	name, file           string
	first                *exec.Cmd
	ended                chan struct{} // closed when the first run has, and nothing has its stderr open
	holder, guard, child int
}

// kill does nothing to what has ended: on a busy machine a run may lose its lock without a fault.
func (s *stage) kill(pid int, sig syscall.Signal) {
	if err := syscall.Kill(pid, sig); err != syscall.ESRCH {
		require.NoError(s.t, err)
	}
}

func (s *stage) cut() { s.proxy.Refuse(true); s.proxy.CutAll() }

func (s *stage) silence() { s.proxy.Hole(true, true) }

// start begins a run.
func (s *stage) start(addr string, a action) *exec.Cmd {
	s.t.Helper()
	self, err := os.Executable()
	require.NoError(s.t, err)
	a.File, a.Role = s.file, "child"
	cmd := exec.Command(binary, "run", "--lease", scheduleLease.String(), "--url", "redis://"+addr, s.name, "--", self)
	cmd.Env = append(os.Environ(), a.env())
	cmd.Stderr = &bytes.Buffer{}
	require.NoError(s.t, cmd.Start())
	return cmd
}

// A line is one of the file.
type line struct {
	label, role string
	pid         int
	boot        time.Duration
}

func lines(t *testing.T, file string) (all []line) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	text = text[:bytes.LastIndexByte(text, '\n')+1] // the last line may be about to be written
	for row := range strings.Lines(string(text)) {
		f := strings.Fields(row)
		require.Len(t, f, 4, row)
		pid, err := strconv.Atoi(f[2])
		require.NoError(t, err)
		boot, err := strconv.ParseInt(f[3], 10, 64)
		require.NoError(t, err)
		all = append(all, line{f[0], f[1], pid, time.Duration(boot)})
	}
	return all
}

// until returns when the file has what is asked for, or nothing if the first run has ended before.
func (s *stage) until(what string, has func([]line) bool) []line {
	s.t.Helper()
	for limit := time.Now().Add(90 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		all := lines(s.t, s.file)
		if has(all) {
			return all
		}
		select {
		case <-s.ended:
			return nil
		default:
		}
		require.True(s.t, time.Now().Before(limit), "there is no %s; the first run said %s", what, s.first.Stderr)
	}
}

func by(label, role string) func([]line) bool {
	return func(all []line) bool {
		return slices.ContainsFunc(all, func(l line) bool { return l.label == label && l.role == role })
	}
}

// parent of a process, as Linux tells; 0 if it has ended.
func parent(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	up, err := strconv.Atoi(fields[1])
	require.NoError(t, err)
	return up
}

// A verdict is what a schedule has shown.
type verdict struct {
	late  map[string]int // lines of the first run behind the first of the second, by role
	after time.Duration  // the last of them on the boot clock, from the first line of the second run's child on
}

// play plays a schedule. It shows nothing if a run has lost its lock too early because the machine was too busy to renew it.
func (c schedule) play(t *testing.T, server *redistest.Server, name string) (v verdict, shown bool) {
	s := &stage{t: t, server: server, proxy: faultproxy.New(t, server.Addr), name: name, file: filepath.Join(t.TempDir(), "lines")}
	require.NoError(t, os.WriteFile(s.file, nil, 0o600))
	c.first.Label, c.first.Life = "first", time.Minute
	s.first = s.start(s.proxy.Addr(), c.first)
	s.ended = make(chan struct{})
	go func() {
		defer close(s.ended)
		_ = s.first.Wait() // the exit code is looked at below
	}()
	defer s.sweep()
	all := s.until("line of each process", func(all []line) bool {
		return by("first", "child")(all) && by("first", "grandchild")(all) && by("first", "escaped")(all)
	})
	if all == nil {
		return v, false
	}
	s.child = all[slices.IndexFunc(all, func(l line) bool { return l.role == "child" })].pid
	s.guard, s.holder = parent(t, s.child), s.first.Process.Pid
	if s.guard == 0 || parent(t, s.guard) != s.holder {
		return v, false
	}

	second := s.start(server.Addr, action{Label: "second", Life: 300 * time.Millisecond, Every: time.Millisecond})
	time.Sleep(c.moment) // any moment will do
	c.fault.do(s)
	_ = second.Wait() // what it has written is looked at below
	if c.fault.alive {
		<-s.ended
		require.Equal(t, exit.Lost, s.first.ProcessState.ExitCode(), s.first.Stderr)
		count := len(lines(t, s.file))
		time.Sleep(20 * time.Millisecond) // for what should not be there to show itself
		require.Len(t, lines(t, s.file), count, "a descendant outlives redlatch")
	}
	if all = lines(t, s.file); !by("second", "child")(all) {
		require.Equal(t, exit.Lost, second.ProcessState.ExitCode(), second.Stderr)
		return v, false
	}
	return judge(all), true
}

func judge(all []line) verdict {
	v := verdict{late: map[string]int{}}
	begun := slices.IndexFunc(all, func(l line) bool { return l.label == "second" })
	for _, l := range all[begun:] {
		if l.label == "first" {
			v.late[l.role]++
			v.after = max(v.after, l.boot-all[begun].boot)
		}
	}
	return v
}

// sweep kills what a schedule has left: what was stopped, and what a double kill cannot reach.
func (s *stage) sweep() {
	for _, pid := range []int{s.holder, s.guard} {
		if pid > 0 && alive(pid, "redlatch") {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may end by itself
		}
	}
	left := map[int]bool{}
	for _, l := range lines(s.t, s.file) {
		left[l.pid] = true
	}
	for pid := range left {
		if alive(pid, filepath.Base(os.Args[0])) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	<-s.ended
}

func alive(pid int, program string) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && strings.Contains(string(text), program)
}

// goneWithin is how long after a lock was taken away at the server its command is gone, as docs/command.md says: a third of the lease, a
// second, and the time between SIGTERM and SIGKILL, which is a sixth of the lease. The next run may begin at once, so its first line is
// no earlier than the fault. A machine that is too busy to run redlatch in time is later.
const goneWithin = scheduleLease/3 + time.Second + scheduleLease/6

// plan is the n-th schedule: each fault in turn, and the rest at random.
func plan(n int) schedule {
	random := rand.New(rand.NewPCG(uint64(n), 15))
	c := schedule{fault: faults[n%len(faults)], moment: time.Duration(random.Int64N(int64(700 * time.Millisecond)))}
	c.first.Every = time.Millisecond
	switch random.IntN(4) {
	case 0:
		c.first.Deaf = true
	case 1:
		c.first.Bomb, c.first.Every = 50, 20*time.Millisecond
	}
	return c
}

func TestNothingOfARunWritesOnceAnotherHasBegun(t *testing.T) {
	count, together := 24, 8
	if text := os.Getenv("REDLATCH_RUN_SCHEDULES"); text != "" { // "1000/8": so many, and so many at a time
		_, err := fmt.Sscanf(text, "%d/%d", &count, &together)
		require.NoError(t, err)
	}
	server := redistest.Process(t)
	room := make(chan struct{}, together)
	verdicts := make([]verdict, count)
	var again atomic.Int64
	t.Run("schedules", func(t *testing.T) {
		for n := range count {
			c := plan(n)
			t.Run(fmt.Sprintf("%d %s", n, c.fault.name), func(t *testing.T) {
				t.Parallel()
				room <- struct{}{}
				defer func() { <-room }()
				v, shown := c.play(t, server, fmt.Sprintf("schedule-%d", n))
				for try := 1; !shown || c.fault.forced && v.after > goneWithin; try++ {
					require.True(t, !shown || try < 3, "the command is gone %v after the next run has begun", v.after)
					require.Less(t, try, 20, "the machine is so busy that no run keeps its lock")
					again.Add(1)
					v, shown = c.play(t, server, fmt.Sprintf("schedule-%d-%d", n, try))
				}
				verdicts[n] = v
				switch {
				case c.fault.forced: // the command has ended all the same, with 76, and no later than goneWithin
				case c.fault.double:
					require.Zero(t, v.late["child"], "the kernel kills the child")
				default:
					require.Empty(t, v.late, "late by %v", v.after)
				}
			})
		}
	})
	var forced, double, late int
	var longest time.Duration
	for n, v := range verdicts {
		f := plan(n).fault
		switch {
		case f.forced:
			forced++
			longest = max(longest, v.after)
		case f.double:
			double++
		case len(v.late) > 0:
			late++
		}
	}
	t.Logf("%d schedules, %d late; apart: %d forced, longest %v; %d double kills; played again: %d", count, late, forced, longest, double, again.Load())
}

// A holder that relies on the parent-death signal leaves the child's children behind. The schedules have to see that.
func TestAControlThatReliesOnTheParentDeathSignalFails(t *testing.T) {
	server := redistest.Process(t)
	s := &stage{t: t, server: server, name: "control", file: filepath.Join(t.TempDir(), "lines")}
	require.NoError(t, os.WriteFile(s.file, nil, 0o600))
	self, err := os.Executable()
	require.NoError(t, err)
	a := action{File: s.file, Label: "first", Life: time.Minute, Every: time.Millisecond, Control: server.Addr}
	s.first = exec.Command(self)
	s.first.Env = append(os.Environ(), a.env())
	s.first.Stderr = &bytes.Buffer{}
	require.NoError(t, s.first.Start())
	s.ended = make(chan struct{})
	go func() {
		defer close(s.ended)
		_ = s.first.Wait() // it is killed
	}()
	defer s.sweep()
	s.until("escaped line", by("first", "escaped"))
	second := s.start(server.Addr, action{Label: "second", Life: 300 * time.Millisecond, Every: time.Millisecond})
	require.NoError(t, s.first.Process.Kill())
	require.NoError(t, second.Wait())
	v := judge(lines(t, s.file))
	require.Positive(t, v.late["escaped"])
	require.Positive(t, v.late["grandchild"])
}
