package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/doctor"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/duration"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/exit"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/terminal"
)

const doctorHelp = `Examines the servers and says what is wrong for locks, and what to do about it in one sentence each. Nothing is changed
but keys and channels with a random name; the keys have a TTL. docs/doctor.md lists what can be found.

The exit code is 0 if everything was looked at and is fine, 1 if there are warnings or something could not be looked at, for want
of a right for example, and 2 if there are errors.`

const checkHelp = `Does what doctor does, and answers as a plugin of Nagios: one line with performance data, and the exit code 0 (OK),
1 (WARNING), 2 (CRITICAL) or 3 (UNKNOWN: nothing is wrong, but something could not be looked at). Name with --ignore what is meant
to be as it is, or cannot be looked at with the rights of the user.`

// examination is what doctor and check share.
type examination struct {
	Prefix  string            `placeholder:"TEXT" help:"How the names of your locks begin; a user whom ACL confines to them needs it."`
	Ignore  []string          `placeholder:"ID" help:"Leave these checks out, by their names with commas between."`
	RTT     duration.Duration `name:"rtt" default:"100ms" placeholder:"D" help:"Warn if the 99th percentile of round trips is above (${default})."`
	Timeout duration.Duration `default:"20s" placeholder:"D" help:"Give up after this time; what was not seen by then is unknown (${default})."`
}

type doctorCommand struct {
	examination
	Window duration.Duration `default:"5s" placeholder:"D" help:"For how long the servers' clocks are compared with this machine's (${default})."`
}

// Help is the text below the flags.
func (*doctorCommand) Help() string { return doctorHelp }

// Run examines the servers and prints the report.
func (d *doctorCommand) Run(c call) error {
	report, err := d.examine(c, time.Duration(d.Window))
	if err != nil {
		return err
	}
	write := func(to io.Writer) error { return report.Table(terminal.To(to)) }
	if c.Output == "json" {
		write = report.JSON
	}
	if err := unlessUnread(write(c.stdout)); err != nil {
		return fmt.Errorf("cannot write the report: %w", err)
	}
	return exit.Silently(report.Code())
}

type checkCommand struct {
	examination
	Window duration.Duration `default:"1s" placeholder:"D" help:"For how long the servers' clocks are compared with this machine's (${default})."`
}

// Help is the text below the flags.
func (*checkCommand) Help() string { return checkHelp }

// Run examines the servers and prints one line. Whatever keeps it from that is UNKNOWN.
func (k *checkCommand) Run(c call) error {
	if c.Output == "json" {
		return exit.With(exit.Usage, errors.New("the answer is one line for a monitoring system; doctor has -o json"))
	}
	report, err := k.examine(c, time.Duration(k.Window))
	if err != nil {
		fmt.Fprintln(c.stdout, doctor.MonitorLine("UNKNOWN", err.Error()))
		return exit.Silently(doctor.MonitorUnknown)
	}
	code, line := report.Monitor()
	fmt.Fprintln(c.stdout, line)
	return exit.Silently(code)
}

func (e *examination) examine(c call, window time.Duration) (*doctor.Report, error) {
	for _, id := range e.Ignore {
		if !slices.ContainsFunc(doctor.Checks, func(check *doctor.Check) bool { return check.ID == id }) {
			return nil, exit.With(exit.Usage, fmt.Errorf("--ignore: there is no check %q; docs/doctor.md lists them", id))
		}
	}
	if e.RTT <= 0 || e.Timeout <= 0 || window <= 0 {
		return nil, exit.With(exit.Usage, errors.New("--rtt, --timeout and --window have to be greater than 0"))
	}
	ctx, client, done, err := c.open()
	if err != nil {
		return nil, err
	}
	defer done()
	master, sentinels, err := c.Connect.Sentinels()
	if err != nil {
		return nil, err
	}
	for _, sentinel := range sentinels {
		defer sentinel.Close()
	}
	report, err := doctor.Run(ctx, doctor.Config{
		Client: client, Where: c.Connect.Where(), Master: master, Sentinels: sentinels, Prefix: e.Prefix, Ignore: e.Ignore,
		RoundTrip: time.Duration(e.RTT), Timeout: time.Duration(e.Timeout), Window: window,
	})
	return report, interruption(ctx, err)
}
