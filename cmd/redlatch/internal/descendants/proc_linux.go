package descendants

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
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

// A process is one line of the process table.
type process struct{ pid, parent, group int }

// Signal sends a signal to every descendant of this process but one, which is 0 for none. SIGKILL is sent to whole groups too:
// a process cannot escape by a fork that comes between the look at the table and the kill. The command's own group is first,
// and does not wait for the look, which takes long on a busy machine.
func Signal(sig syscall.Signal, command Command, except int) {
	if sig == syscall.SIGKILL && command.Pid > 1 && !command.Ended {
		_ = syscall.Kill(-command.Pid, sig) // an error means that it has ended, as it should
	}
	found := below(table(), os.Getpid())
	if sig == syscall.SIGKILL {
		for _, p := range found {
			leads := func(leader process) bool { return leader.pid == p.group }
			if p.group != except && slices.ContainsFunc(found, leads) {
				_ = syscall.Kill(-p.group, sig) // an error means that it has ended, as it should
			}
		}
	}
	for _, p := range found {
		if p.pid != except {
			_ = syscall.Kill(p.pid, sig)
		}
	}
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
		text, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue // it has ended
		}
		// "pid (name) state parent group ...", and the name may have spaces and brackets
		fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
		if len(fields) < 3 {
			continue
		}
		parent, _ := strconv.Atoi(string(fields[1]))
		group, _ := strconv.Atoi(string(fields[2]))
		all = append(all, process{pid, parent, group})
	}
	return all
}
