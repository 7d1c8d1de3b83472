// Command benchmarks runs redlatch and other libraries for locks on Redis side by side, in one process against one
// server, then every primitive of redlatch, and writes what it finds as tables and pictures.
//
//	go -C benchmarks run .              # all of it, into docs/benchmarks
//	go -C benchmarks run . -short       # less exactly
//	go -C benchmarks run . -only 'loopback/hot|waiters' -libraries 'redlatch|rueidis'
//
// docs/performance.md says what the figures mean.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"syscall"
	"time"

	"github.com/redlatch/redlatch/benchmarks/internal/delay"
	"github.com/redlatch/redlatch/benchmarks/internal/load"
	"github.com/redlatch/redlatch/benchmarks/internal/report"
	"github.com/redlatch/redlatch/benchmarks/internal/server"
	"github.com/redlatch/redlatch/benchmarks/internal/trial"
)

func main() {
	if err := role(); err != nil {
		fmt.Fprintln(os.Stderr, "benchmarks:", err)
		os.Exit(1)
	}
}

// role is what this process is for: the run itself starts others of the same program.
func role() error {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case load.WorkerRole:
			return load.Work(os.Stdin, os.Stdout)
		case delay.Role:
			return delay.Serve(os.Args[2:], os.Stdin, os.Stdout)
		}
	}
	var p plan
	if err := p.parse(os.Args[1:]); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return p.run(ctx)
}

// A plan is what the command line asks for.
type plan struct {
	command         string
	rounds, holds   int
	block, idle     time.Duration
	latency, poll   time.Duration
	pool            int
	url, java       string
	out, machine    string
	only, libraries regexpFlag
	short, draw     bool
}

type regexpFlag struct{ *regexp.Regexp }

func (f *regexpFlag) Set(text string) (err error) {
	f.Regexp, err = regexp.Compile(text)
	return err
}

func (f *regexpFlag) String() string {
	if f.Regexp == nil {
		return ""
	}
	return f.Regexp.String()
}

func (p *plan) parse(args []string) error {
	flags := flag.NewFlagSet("benchmarks", flag.ContinueOnError)
	p.only, p.libraries = regexpFlag{regexp.MustCompile("")}, regexpFlag{regexp.MustCompile("")}
	flags.IntVar(&p.rounds, "rounds", 7, "`number` of times that every block is run")
	flags.DurationVar(&p.block, "block", 80*time.Millisecond, "`length` of the shortest block; those with more callers, or one key, are longer")
	flags.BoolVar(&p.short, "short", false, "2 rounds of 50 ms, unless -rounds and -block say otherwise")
	flags.BoolVar(&p.draw, "draw", false, "measure nothing; write tables and pictures again from the figures in the folder of -out")
	flags.Var(&p.only, "only", "`pattern` of what is run: (loopback|latency|primitives)/(own/…|hot/…|wake), waiters, holds, stall")
	flags.Var(&p.libraries, "libraries", "`pattern` of the libraries and primitives that are run beside the floor")
	flags.DurationVar(&p.latency, "latency", time.Millisecond, "what the network with latency adds to a round trip")
	flags.DurationVar(&p.poll, "poll", 10*time.Millisecond, "`pause` between two questions of libraries whose waiters poll")
	flags.IntVar(&p.pool, "pool", 0, "`connections` of each go-redis client; 0 leaves the default, 10 for each core")
	flags.DurationVar(&p.idle, "idle", 6*time.Second, "`time` for which idle waiters are watched")
	flags.IntVar(&p.holds, "holds", 10000, "`number` of idle holds")
	flags.StringVar(&p.url, "url", "", "server to use, redis://`host:port`; without it, redis-server is started")
	flags.StringVar(&p.java, "java", "../interop/java", "`folder` of the Java program with Redisson; empty to leave it out")
	flags.StringVar(&p.out, "out", "../docs/benchmarks", "`folder` for the results; empty to write none")
	flags.StringVar(&p.machine, "machine", "", "`words` for the machine; without them, its number of cores")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%q is no flag", flags.Arg(0))
	}
	set := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { set[f.Name] = true })
	if p.short {
		if !set["rounds"] {
			p.rounds = 2
		}
		if !set["block"] {
			p.block = 50 * time.Millisecond
		}
		if !set["idle"] {
			p.idle = 3 * time.Second / 2
		}
	}
	if p.rounds < 1 || p.block <= 0 || p.holds < 1 || p.idle <= 0 || p.latency < 0 || p.poll <= 0 {
		return errors.New("rounds, holds and times are positive")
	}
	p.command = commandLine(args)
	return nil
}

// run does the whole of it, and writes also what an interrupted run has found.
func (p *plan) run(ctx context.Context) (err error) {
	if p.draw {
		return report.Redraw(p.out)
	}
	begin := time.Now()
	s, err := p.server()
	if err != nil {
		return err
	}
	defer s.Stop()
	proxy, err := delay.Spawn(s.Addr, p.latency/2)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, proxy.Close()) }()
	t := &trial.Trial{
		Server: s, Rounds: p.rounds, Block: p.block, Idle: p.idle, Holds: p.holds, Poll: p.poll, Pool: p.pool,
		Networks: []trial.Network{{Name: "loopback", Addr: s.Addr}, {Name: "latency", Addr: proxy.Addr, Slow: true}},
		Only:     p.only.Regexp, Libraries: p.libraries.Regexp, Log: os.Stderr,
	}
	defer p.others(t)()
	results, err := p.describe(t)
	if err != nil {
		return err
	}
	results.Busy = otherWork()
	if p.java != "" {
		if t.Java, err = load.StartJava(p.java, s.Addr); err != nil {
			results.Left = append(results.Left, fmt.Sprintf("Redisson (%v)", err))
		} else {
			defer func() { err = errors.Join(err, t.Java.Close()) }()
		}
	}
	err = t.Run(ctx, &results)
	results.Busy = max(results.Busy, otherWork())
	fmt.Print(report.Text(results))
	if p.out != "" {
		err = errors.Join(err, report.Write(results, p.out))
	}
	fmt.Fprintf(os.Stderr, "%s: %v\n", p.command, time.Since(begin).Round(time.Second))
	return err
}

// others starts two more servers, for primitives that need three. Without these servers they are left out, and the results
// say so.
func (p *plan) others(t *trial.Trial) (stop func()) {
	for range 2 {
		s, err := server.Start()
		if err != nil {
			break
		}
		t.Others = append(t.Others, s)
	}
	return func() {
		for _, s := range t.Others {
			s.Stop()
		}
	}
}
