package descendants

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/redlatch/redlatch/internal/clock"
)

// Adopt makes this process the one that inherits the orphans below it. It fails where they could not be found: without
// /proc, and in a namespace of processes that has the /proc of another.
func Adopt() error {
	if self, err := os.Readlink("/proc/self"); err != nil || self != strconv.Itoa(os.Getpid()) {
		return errors.New("/proc does not show this process, so what it starts could not be found: mount the one of this namespace")
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become the subreaper: %w", err)
	}
	return nil
}

// A process is one line of the process table. The start, in hundredths of a second, tells it from another that has its number later.
type process struct {
	pid, parent, group int
	start              int64
}

// Signal sends a signal to every descendant of this process but one, which is 0 for none. The leader may be nil.
//
// Groups are signalled as groups: their members cannot escape by a fork that comes between the look at the table and the signal. What
// leaves its group can, so there is another look until none has been found that was there before its parent was signalled. What
// a parent starts afterwards is its answer to the signal, and gets none. SIGKILL is repeated by the callers until nothing is left; the
// leader's group is first then, and does not wait for the look, which takes long on a busy machine.
func Signal(sig syscall.Signal, leader Leader, except int) {
	looks := mostLooks
	if sig == syscall.SIGKILL {
		if leader != nil {
			leader.Group(sig)
		}
		looks = 1
	}
	r := &round{sig: sig, except: except, sent: map[int]int64{}}
	for again := true; again && looks > 0; looks-- {
		again = r.send(below(look(), os.Getpid()))
	}
}

// mostLooks bounds what is done about a command that forks faster than it is looked at.
const mostLooks = 20

// look is table, for tests to come in between.
var look = table

// A round is a signal on its way to all descendants.
type round struct {
	sig    syscall.Signal
	except int
	sent   map[int]int64 // the moment before each process was signalled, in the unit of process.start

	first int64 // the latest of them in the first round
}

// send signals those found that are to have the signal and have not, and reports whether there were any.
func (r *round) send(found []process) (some bool) {
	var due []process
	for _, p := range found {
		if _, has := r.sent[p.pid]; !has && p.pid != r.except && r.was(p, found) {
			due = append(due, p)
		}
	}
	last := int64(0)
	groups := map[int]int64{} // when each was signalled
	for _, p := range due {
		if p.pid == p.group && p.lives() {
			if now := ticks(); syscall.Kill(-p.group, r.sig) == nil {
				groups[p.group] = now
			}
		}
	}
	for _, p := range due {
		at, whole := groups[p.group]
		if !whole {
			at = ticks()
			p.send(r.sig)
		}
		r.sent[p.pid], last = at, max(last, at)
	}
	if r.first == 0 {
		r.first = last
	}
	return len(due) > 0
}

// was tells whether the process was there before its parent was signalled: in the first look all were. What a process has started that
// gets no signal is part of its answer. Of an orphan it is not known whose answer it is part of: it gets the signal if it was there
// before the end of the first round.
func (r *round) was(p process, found []process) bool {
	if r.first == 0 {
		return true
	}
	before, signalled := r.sent[p.parent]
	if !signalled {
		if slices.ContainsFunc(found, func(other process) bool { return other.pid == p.parent && other.pid != r.except }) {
			return false
		}
		before = r.first
	}
	return p.start < before
}

// ticks is now in the unit of process.start.
func ticks() int64 { return int64(clock.Boot() / (10 * time.Millisecond)) }

// lives tells whether the process is still there, collected by nobody.
func (p process) lives() bool {
	now, ok := read(p.pid)
	return ok && now.start == p.start
}

// send signals the process, and no other that has its number since.
func (p process) send(sig syscall.Signal) {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err == nil {
		defer unix.Close(fd)
	}
	if !p.lives() {
		return
	}
	if err == nil {
		err = unix.PidfdSendSignal(fd, sig, nil, 0)
	}
	if err == unix.ENOSYS || err == unix.EPERM { // an old kernel, or a sandbox that does not know the call
		_ = syscall.Kill(p.pid, sig) // an error means that it has ended, as it should
	}
}

// Pid is the number.
func (p process) Pid() int { return p.pid }

// Group signals the group that the process leads, while it is seen to be the same.
func (p process) Group(sig syscall.Signal) bool {
	if !p.lives() {
		return false
	}
	_ = syscall.Kill(-p.pid, sig) // an error means that it has ended, as it should
	return true
}

// Find is the process of that number, which another process has started, or nil when it has ended.
func Find(pid int) Leader {
	if p, ok := read(pid); ok {
		return p
	}
	return nil
}

// Left tells nothing here: the caller's wait ends with ECHILD when no descendant is left.
func Left(int) bool { return false }

// below are the descendants of root.
func below(all []process, root int) (found []process) {
	children := map[int][]process{}
	for _, p := range all {
		children[p.parent] = append(children[p.parent], p)
	}
	for next := children[root]; len(next) > 0; {
		p := next[0]
		found = append(found, p)
		next = append(next[1:], children[p.pid]...)
	}
	return found
}

func table() (all []process) {
	folder, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer folder.Close()
	names, _ := folder.Readdirnames(-1) // what was read is as good as the table is at any moment
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if p, ok := read(pid); ok {
			all = append(all, p)
		}
	}
	return all
}

// read reads one line of the table. There is none for a process that was collected.
func read(pid int) (p process, ok bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return p, false
	}
	// "pid (name) state parent group ... start ...", and the name may have spaces and brackets
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 20 {
		return p, false
	}
	number := func(field int) int64 {
		n, _ := strconv.ParseInt(string(fields[field]), 10, 64) // the kernel writes numbers
		return n
	}
	return process{pid, int(number(1)), int(number(2)), number(19)}, true
}
