package load

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/redlatch/redlatch/benchmarks/internal/library"
)

// A Task is what a worker process is told first.
type Task struct {
	Library string         `json:"library"`
	Config  library.Config `json:"config"`
	Key     string         `json:"key"`
	Callers int            `json:"callers"`
}

// Crowd are several processes whose callers all want the same key.
type Crowd struct{ workers []*worker }

// A worker is one of them. It is told one line at a time, and answers each with one.
type worker struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	answers *json.Decoder
}

// WorkerRole is the argument that makes this program a worker.
const WorkerRole = "worker"

// NewCrowd starts the program that is running, processes times, as workers.
func NewCrowd(processes int, task Task) (*Crowd, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &Crowd{}
	for range processes {
		w := &worker{cmd: exec.Command(program, WorkerRole)}
		w.cmd.Stderr = os.Stderr
		in, err := w.cmd.StdinPipe()
		if err != nil {
			return nil, errors.Join(err, c.Close())
		}
		out, err := w.cmd.StdoutPipe()
		if err != nil {
			return nil, errors.Join(err, c.Close())
		}
		if err := w.cmd.Start(); err != nil {
			return nil, errors.Join(err, c.Close())
		}
		w.in, w.answers = in, json.NewDecoder(bufio.NewReader(out))
		c.workers = append(c.workers, w)
	}
	for _, w := range c.workers {
		if err := w.say(task); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	for _, w := range c.workers {
		if _, err := w.hear(); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	return c, nil
}

// Block has all workers begin at the same time.
func (c *Crowd) Block(length time.Duration) (Block, error) {
	for _, w := range c.workers {
		if err := w.say(length); err != nil {
			return Block{}, err
		}
	}
	blocks, errs := make([]Block, len(c.workers)), make([]error, len(c.workers))
	var wg sync.WaitGroup
	for i, w := range c.workers {
		wg.Go(func() { blocks[i], errs[i] = w.hear() })
	}
	wg.Wait()
	return Merge(blocks), errors.Join(errs...)
}

// Close ends the workers by the end of their input.
func (c *Crowd) Close() error {
	var errs []error
	for _, w := range c.workers {
		errs = append(errs, w.in.Close(), w.cmd.Wait())
	}
	return errors.Join(errs...)
}

func (w *worker) say(what any) error { return json.NewEncoder(w.in).Encode(what) }

type answer struct {
	Block Block  `json:"block"`
	Error string `json:"error"`
}

func (w *worker) hear() (Block, error) {
	var a answer
	if err := w.answers.Decode(&a); err != nil {
		return Block{}, fmt.Errorf("a worker process has ended: %w", err)
	}
	if a.Error != "" {
		return Block{}, fmt.Errorf("a worker process: %s", a.Error)
	}
	return a.Block, nil
}

// Work is what a worker process does until its input ends.
func Work(in io.Reader, out io.Writer) error {
	lines, answers := json.NewDecoder(in), json.NewEncoder(out)
	var task Task
	if err := lines.Decode(&task); err != nil {
		return err
	}
	client, callers, err := open(task)
	if err != nil {
		return answers.Encode(answer{Error: err.Error()})
	}
	defer client.Close()
	for b := (Block{}); ; {
		if err := answers.Encode(answer{Block: b, Error: text(err)}); err != nil {
			return err
		}
		var length time.Duration
		if lines.Decode(&length) != nil {
			return nil
		}
		b, err = callers.Block(length)
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func open(task Task) (library.Client, *Callers, error) {
	l, err := library.Named(task.Library)
	if err != nil {
		return nil, nil, err
	}
	client, err := l.Open(task.Config)
	if err != nil {
		return nil, nil, err
	}
	handles := make([]library.Handle, task.Callers)
	for i := range handles {
		if handles[i], err = client.Handle(task.Key); err != nil {
			return nil, nil, errors.Join(err, client.Close())
		}
	}
	return client, NewCallers(handles, true), nil
}
