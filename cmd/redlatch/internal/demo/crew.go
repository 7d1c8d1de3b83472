package demo

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// A crew is the worker processes. Its methods are for one goroutine.
type crew struct {
	members []*member // worker 1 is the first
	ends    chan *member
	living  int
}

type member struct {
	worker  int
	cmd     *exec.Cmd
	stdin   io.Closer
	stderr  bytes.Buffer // read when the process has ended
	err     error        // how it ended
	planned bool         // we killed it
}

// hire starts a process for every order.
func hire(start func() *exec.Cmd, all []orders) (*crew, error) {
	c := &crew{ends: make(chan *member, len(all))} // room for all: nobody may be there to read
	for _, o := range all {
		if err := c.add(start(), o); err != nil {
			c.dismiss()
			return nil, fmt.Errorf("start worker %d: %w", o.Worker, err)
		}
	}
	return c, nil
}

func (c *crew) add(cmd *exec.Cmd, o orders) error {
	m := &member{worker: o.Worker, cmd: cmd}
	cmd.Stderr = &m.stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	m.stdin = stdin
	if err := cmd.Start(); err != nil {
		return err
	}
	c.members = append(c.members, m)
	c.living++
	// A worker that is dead already does not read this; what it died of is told when its end is.
	_ = json.NewEncoder(stdin).Encode(o)
	go func() {
		m.err = cmd.Wait()
		c.ends <- m
	}()
	return nil
}

// kill ends a worker as no program can prevent or notice.
func (c *crew) kill(worker int) error {
	m := c.members[worker-1]
	m.planned = true
	return m.cmd.Process.Kill()
}

// buried is called with every member that comes out of ends.
func (c *crew) buried(m *member) {
	c.living--
	m.stdin.Close()
}

// dismiss ends those that still live: politely, and those that do not listen by force.
func (c *crew) dismiss() {
	for _, m := range c.members {
		m.stdin.Close()
	}
	patience := time.After(lastBreath + time.Second)
	for c.living > 0 {
		select {
		case <-c.ends:
			c.living--
		case <-patience:
			for _, m := range c.members {
				_ = m.cmd.Process.Kill() // one that has ended by now says so
			}
			patience = nil
		}
	}
}

// obituary says how a worker ended: by which signal, or with which first of its last words.
func (m *member) obituary() string {
	words, _, _ := strings.Cut(strings.TrimSpace(m.stderr.String()), "\n")
	return cmp.Or(words, m.err.Error())
}

// numbers are the process numbers, for whoever wants to send a signal to one.
func (c *crew) numbers() string {
	var text []string
	for _, m := range c.members {
		text = append(text, strconv.Itoa(m.cmd.Process.Pid))
	}
	return strings.Join(text, " ")
}
