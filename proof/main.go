// Command proof runs the library against real servers, harms both, and judges what the clients saw.
//
//	go -C proof run . soak --for 1m --seed 1 --out DIR    # run, and judge
//	go -C proof run . check DIR                           # judge again
//	go -C proof run . report DIR...                       # merge verdicts into JSON
//
// The status is 0 for a green verdict, 1 for a red one, 2 for an invalid one and 3 for a mistake in the command.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/redlatch/redlatch/proof/internal/judge"
	"github.com/redlatch/redlatch/proof/internal/soak"
	"github.com/redlatch/redlatch/proof/internal/verdict"
)

const usage = `usage:
  proof soak --out DIR [--for 1m] [--seed N] [--topology single|sentinel|cluster] [--workers N] [--naive]
  proof check DIR
  proof report DIR...
`

// wrong is the status of a mistake in the command.
const wrong = 3

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, out, errs io.Writer) int {
	status, err := command(args, out, errs)
	if err != nil {
		_, _ = fmt.Fprintln(errs, err)
		return wrong
	}
	return status
}

func command(args []string, out, errs io.Writer) (int, error) {
	switch {
	case len(args) > 0 && args[0] == "soak":
		return soakAndCheck(args[1:], out, errs)
	case len(args) == 2 && args[0] == soak.Worker:
		return 0, soak.Work(args[1])
	case len(args) == 2 && args[0] == "check":
		return check(args[1], out)
	case len(args) >= 2 && args[0] == "report":
		r := verdict.Merge(args[1:])
		text, err := r.JSON()
		if err == nil {
			_, err = out.Write(text)
		}
		return statusOf(r.Verdict), err
	}
	_, err := io.WriteString(errs, usage)
	return wrong, err
}

func soakAndCheck(args []string, out, errs io.Writer) (int, error) {
	var o soak.Options
	flags := flag.NewFlagSet("soak", flag.ContinueOnError)
	flags.SetOutput(errs)
	flags.DurationVar(&o.For, "for", time.Minute, "how long there are calls and faults; the end takes another minute at most")
	flags.Uint64Var(&o.Seed, "seed", 1, "of the calls and the faults, not of how they interleave")
	flags.StringVar(&o.Out, "out", "", "the `folder` that is made for the journals")
	flags.StringVar(&o.Topology, "topology", soak.Single, "single, sentinel or cluster")
	flags.IntVar(&o.Workers, "workers", 3, "how many processes make calls under faults; one more is calm")
	flags.BoolVar(&o.Naive, "naive", false, "with a naive lock, which has to be convicted")
	if err := flags.Parse(args); err != nil {
		return wrong, nil // it is printed
	}
	if flags.NArg() > 0 || o.Out == "" || o.For <= 0 || o.Workers < 1 {
		_, err := io.WriteString(errs, usage)
		return wrong, err
	}
	if err := soak.Run(o); err != nil {
		return wrong, err
	}
	return check(o.Out, out)
}

// check judges a folder.
func check(folder string, out io.Writer) (int, error) {
	v := verdict.Of(folder)
	return statusOf(v.Verdict), v.Print(out)
}

func statusOf(v judge.Verdict) int {
	switch v {
	case judge.Green:
		return 0
	case judge.Red:
		return 1
	}
	return 2
}
