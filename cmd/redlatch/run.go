package main

import (
	"errors"
	"os"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/connect"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/duration"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/exit"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/run"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/terminal"
)

const runHelp = `Takes the lock NAME, runs the command, and gives the lock back when the command and everything that it has started
have ended. If the lock is lost, the command gets SIGTERM and, --kill-after later, SIGKILL, before another can hold the lock.
If somebody asks for it ("redlatch unlock --ask"), the command gets SIGTERM.

  redlatch run backup -- pg_dump -f /backup/db.sql db      wait for the lock, then run
  redlatch run -n nightly -- ./job                         do not wait: exit code 75 if it is taken
  redlatch run -w 30 deploy -c 'make build && make push'   wait 30 s at most, and use a shell
  redlatch run -s data -- ./report                         shared: with other -s, not with -x
  redlatch run -N 3 encode -- ffmpeg ...                   three at the same time
  redlatch run -n --at-least 5m nightly -- ./job           in the crontab of several machines: one of them runs it

The exit code is that of the command, 128 + n if signal n has ended it. Others: 75 taken (-E changes it), 76 lost, 79 ended
because somebody asked for the lock, 124 ended by --max-hold, 69 the server cannot be reached, 126 and 127 the command cannot be
run. --result tells them from the command's own.

After two seconds of waiting a line on stderr says who holds the lock, or why the server does not answer.`

type runCommand struct {
	Nowait    bool               `short:"n" name:"nonblock" help:"Do not wait if the lock is taken. This is told on a terminal only."`
	Wait      *duration.Seconds  `short:"w" placeholder:"SECONDS" xor:"wait" help:"Wait so long at most: 10, 0.5, 2m."`
	Busy      int                `short:"E" name:"conflict-exit-code" default:"75" placeholder:"CODE" help:"Exit code if the lock is taken (${default})."`
	Shared    bool               `short:"s" xor:"mode" help:"Take the reading side of a read-write lock."`
	Exclusive bool               `short:"x" xor:"mode" help:"Take the writing side of a read-write lock. Without -s and -x the lock is a plain one."`
	Permits   *int64             `short:"N" xor:"mode" placeholder:"N" help:"Let N run at the same time. All runs of NAME give the same N."`
	Command   *string            `short:"c" placeholder:"COMMAND" help:"Have the shell ($SHELL, else /bin/sh) run this."`
	Label     string             `placeholder:"TEXT" help:"Text that \"redlatch ls\" shows beside this process, such as the name of the job. 64 bytes."`
	Close     bool               `short:"O" help:"Give the lock back when the command ends, though what it has started lives on. (In flock this is -o.)"`
	Lease     duration.Duration  `default:"30s" placeholder:"D" help:"How long the lock lasts when this machine dies (${default})."`
	AtLeast   duration.Duration  `placeholder:"D" help:"Keep the lock taken for at least D, also if the command ends before: no other machine runs it again at once."`
	MaxHold   duration.Duration  `placeholder:"D" help:"End the command after D: SIGTERM, and SIGKILL --kill-after later; exit code 124."`
	Quiet     bool               `short:"q" help:"Say nothing of a lock that is taken, of the wait for it, or of an outage that passes. Losses and failures are told."`
	KillAfter *duration.Duration `placeholder:"D" help:"Time between SIGTERM and SIGKILL when the lock is lost. Default: a sixth of the lease, 5s at most."`
	Result    string             `placeholder:"FILE" help:"Write what happened to FILE, as JSON."`

	Name string   `arg:"" help:"Name of the lock."`
	Args []string `arg:"" optional:"" name:"command" passthrough:"" help:"Command and its arguments, after --."`
}

// Help is the text below the flags.
func (*runCommand) Help() string { return runHelp }

// Run runs a command under a lock.
func (r *runCommand) Run(c call) error {
	config := run.Config{
		URL: connect.Redacted(c.Connect.URL), Name: r.Name, Mode: run.Lock,
		Once: r.Nowait, Wait: -1, Busy: r.Busy, Lease: time.Duration(r.Lease), Kill: -1,
		AtLeast: time.Duration(r.AtLeast), MaxHold: time.Duration(r.MaxHold),
		Quiet: r.Quiet, Watched: terminal.Is(c.stderr), Server: c.Connect.Where(),
		Label: r.Label, Close: r.Close, Result: r.Result, Args: r.Args,
		Complain: func(format string, args ...any) { complain(c.stderr, "redlatch run: "+format+"\n", args...) },
	}
	if r.Wait != nil {
		config.Wait = max(time.Duration(*r.Wait), 0)
	}
	if r.KillAfter != nil {
		config.Kill = max(time.Duration(*r.KillAfter), 0)
	}
	switch {
	case r.Shared:
		config.Mode = run.Read
	case r.Exclusive:
		config.Mode = run.Write
	case r.Permits != nil:
		config.Mode, config.Permits = run.Permits, *r.Permits
	}
	if len(config.Args) > 0 && config.Args[0] == "--" {
		config.Args = config.Args[1:]
	}
	if r.Command != nil {
		if len(config.Args) > 0 {
			return exit.With(exit.Usage, errors.New("give -c or a command, not both"))
		}
		config.Args = []string{shell(), "-c", *r.Command}
	}
	client, err := c.Connect.Open()
	if err != nil {
		return err
	}
	defer connect.Close(client)
	if config.Label != "" {
		if err := redlatch.Configure(client, redlatch.WithLabel(config.Label)); err != nil {
			return exit.With(exit.Usage, err)
		}
	}
	connect.Announce(client)
	config.Client = client
	return run.Run(config)
}

func shell() string {
	if s := os.Getenv("SHELL"); s != "" {
		return s
	}
	return "/bin/sh"
}
