package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/rlock"
)

// actVariable has the test program be a process of a schedule.
const actVariable = "REDLATCH_TEST_ACT"

// An action is what such a process does: it appends a line to a file every so often, and has descendants that do too.
type action struct {
	File    string
	Label   string // of the run that it belongs to
	Role    string // child, grandchild, escaped
	Life    time.Duration
	Every   time.Duration
	Bomb    int  // this many more grandchildren
	Deaf    bool // SIGTERM is ignored
	Control string
}

func (a action) env() string {
	text, err := json.Marshal(a)
	if err != nil {
		panic(err)
	}
	return actVariable + "=" + string(text)
}

func act(work string) {
	var a action
	if err := json.Unmarshal([]byte(work), &a); err != nil {
		panic(err)
	}
	if a.Control != "" {
		a.control()
		return
	}
	if a.Deaf {
		signal.Ignore(syscall.SIGTERM)
	}
	if a.Role == "child" {
		a.start("grandchild", nil)
		a.start("escaped", &syscall.SysProcAttr{Setsid: true})
		for range a.Bomb {
			a.start("grandchild", nil)
		}
	}
	file, err := os.OpenFile(a.File, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		panic(err)
	}
	for end := clock.Boot() + a.Life; clock.Boot() < end; time.Sleep(a.Every) {
		fmt.Fprintf(file, "%s %s %d %d\n", a.Label, a.Role, os.Getpid(), clock.Boot()) // one write, at the end of the file
	}
}

func (a action) start(role string, attributes *syscall.SysProcAttr) *exec.Cmd {
	a.Role = role
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), a.env())
	cmd.SysProcAttr = attributes
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	return cmd
}

// control is a holder that relies on the parent-death signal alone.
func (a action) control() {
	runtime.LockOSThread()
	client := redis.NewClient(&redis.Options{Addr: a.Control})
	_, err := rlock.New(client, "control").Lock(context.Background(), redlatch.WithWatchdogTimeout(2*time.Second))
	if err != nil {
		panic(err)
	}
	a.Control = ""
	_ = a.start("child", &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}).Wait()
}
