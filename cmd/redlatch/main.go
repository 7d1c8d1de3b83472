// Command redlatch shows the locks, semaphores and latches of package redlatch at work.
//
//	redlatch demo    worker processes share jobs under a lock, a semaphore and latches, and one of them is killed
//
// "redlatch --help" lists the commands, "redlatch <command> --help" the flags of one.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9/logging"
)

// Exit codes, the same for every command.
const (
	exitOK          = 0
	exitFailed      = 1   // it did not work, or what was to be shown is not so
	exitUsage       = 2   // the command line makes no sense; nothing was done
	exitInterrupted = 130 // ended by Ctrl-C or SIGTERM, after cleaning up
)

// A command is one word after "redlatch". Each has a file of its own and its line in the table.
type command struct {
	name    string
	summary string
	hidden  bool // started by other commands, not by people
	run     func(c call) int
}

// A call is one use of a command.
type call struct {
	args           []string // behind the command's name
	stdin          io.Reader
	stdout, stderr io.Writer
}

var commands = []command{
	{name: "demo", summary: "worker processes share jobs, one is killed, and what happened is verified", run: runDemo},
	{name: workerCommand, hidden: true, run: runWorker},
}

func main() {
	os.Exit(run(call{args: os.Args[1:], stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}))
}

func run(c call) int {
	logging.Disable() // of go-redis, to stderr and across whatever a command draws; commands report their own errors
	if len(c.args) == 0 {
		usage(c.stderr)
		return exitUsage
	}
	name := c.args[0]
	c.args = c.args[1:]
	switch name {
	case "help", "-h", "-help", "--help":
		if len(c.args) == 0 {
			usage(c.stdout)
			return exitOK
		}
		name, c.args = c.args[0], []string{"--help"} // "redlatch help demo"
	case "version", "-version", "--version":
		fmt.Fprintln(c.stdout, version())
		return exitOK
	}
	i := slices.IndexFunc(commands, func(k command) bool { return k.name == name })
	if i < 0 {
		fmt.Fprintf(c.stderr, "redlatch: there is no command %q; \"redlatch --help\" lists them\n", name)
		return exitUsage
	}
	return commands[i].run(c)
}

func usage(w io.Writer) {
	fmt.Fprint(w, "redlatch: locks, semaphores and latches on Redis\n\nusage: redlatch <command> [flags]\n\n")
	for _, k := range commands {
		if !k.hidden {
			fmt.Fprintf(w, "  %-8s %s\n", k.name, k.summary)
		}
	}
	fmt.Fprint(w, "\n\"redlatch <command> --help\" shows the flags of a command, \"redlatch --version\" the version.\n")
}

// version is that of the module, of the client library and of Go, as the binary knows them. A build in a clone knows its
// commit.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "redlatch, of a build without version"
	}
	text := "redlatch " + cmp.Or(info.Main.Version, "(devel)")
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" && !strings.Contains(text, setting.Value[:min(12, len(setting.Value))]) {
			text += ", commit " + setting.Value
		}
	}
	for _, module := range info.Deps {
		if module.Path == "github.com/redis/go-redis/v9" {
			text += ", go-redis " + module.Version
		}
	}
	return text + ", " + info.GoVersion
}

// parse reads the flags of a command that takes nothing else. When it answers false the command ends with the code.
func (c call) parse(flags *flag.FlagSet, help func(w io.Writer)) (code int, ok bool) {
	flags.SetOutput(io.Discard) // the package would print all flags below every mistake
	err := flags.Parse(c.args)
	switch {
	case err == flag.ErrHelp:
		help(c.stdout)
		return exitOK, false
	case err != nil:
		return c.misuse(flags.Name(), err.Error()), false
	case flags.NArg() > 0:
		return c.misuse(flags.Name(), fmt.Sprintf("%q is not a flag, and nothing else is expected", flags.Arg(0))), false
	}
	return exitOK, true
}

func (c call) misuse(name, what string) int {
	fmt.Fprintf(c.stderr, "redlatch %s: %s; \"redlatch %s --help\" shows the flags\n", name, what, name)
	return exitUsage
}
