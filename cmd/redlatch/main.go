// Command redlatch puts the locks of package redlatch at the service of shells and of the people who watch over them.
//
// "redlatch --help" lists the commands, "redlatch <command> --help" the flags of one.
//
// # How to add a command
//
// A command is a struct in a file of its own, named after it, with three things:
//
//	type lsCommand struct {
//		Long bool   `short:"l" help:"Show owners too."` // flags and arguments, as package kong reads them
//		Name string `arg:"" help:"Name of the lock."`
//	}
//
//	func (*lsCommand) Help() string { return lsHelp } // the text below the flags; may be left out
//
//	func (l *lsCommand) Run(c call) error {
//		client, err := c.Connect.Open()
//		...
//	}
//
// and one field in commandLine below. Run hands the work to a package internal/ls, which knows nothing of kong. It returns
// an error instead of printing one; package exit finds its code, and exit.With gives it another. What the command finds out
// goes to c.stdout, as a table or as JSON (c.Output), everything else to c.stderr.
package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
	"github.com/redis/go-redis/v9/logging"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/connect"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/exit"
)

// commandLine is everything that can be written behind "redlatch".
type commandLine struct {
	Shared

	Run     runCommand     `cmd:"" help:"Run a command while a lock is held."`
	Ls      lsCommand      `cmd:"" help:"List what is held, by whom, and who waits."`
	Inspect inspectCommand `cmd:"" help:"Show all about one name, and what to do next."`
	Top     topCommand     `cmd:"" help:"Watch what is waited for most."`
	Demo    demoCommand    `cmd:"" help:"Worker processes share jobs, one is killed, and what happened is verified."`

	Unlock    unlockCommand    `cmd:"" help:"Take a lock away from the owner that inspect shows."`
	Wait      waitCommand      `cmd:"" help:"Wait until a latch is open."`
	Countdown countdownCommand `cmd:"" help:"Count a latch down, or set it."`
	Permits   permitsCommand   `cmd:"" help:"Show, set or change the permits of a semaphore."`

	Doctor doctorCommand `cmd:"" help:"Examine the servers: what is wrong for locks, and what to do about it."`
	Check  checkCommand  `cmd:"" help:"Examine the servers as doctor does, and answer in one line, as a plugin of Nagios."`

	// Started by other commands, not by people.
	DemoWorker demoWorker   `cmd:"" hidden:"" name:"demo-worker"`
	RunGuard   guardCommand `cmd:"" hidden:"" name:"run-guard"`
}

// Shared are the flags of all commands.
type Shared struct {
	Connect connect.Flags    `embed:""`
	Output  string           `short:"o" enum:"table,json" default:"table" help:"How results are printed: table or json."`
	Version kong.VersionFlag `help:"Show the version and quit."`
}

// A call is one use of a command.
type call struct {
	Shared
	stdin          io.Reader
	stdout, stderr io.Writer
}

const description = "Locks, semaphores and latches on Redis."

func main() {
	outliveReaders()
	os.Exit(execute(os.Args[1:], call{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}))
}

func execute(args []string, c call) int {
	logging.Disable() // of go-redis, to stderr and across whatever a command draws; commands report their own errors
	var line commandLine
	shown := false // the help or the version, after which nothing is to be done
	parser := kong.Must(&line,
		kong.Name("redlatch"),
		kong.Description(description),
		kong.Writers(c.stdout, c.stderr),
		kong.Exit(func(int) { shown = true }),
		kong.Vars{"version": version()},
		kong.ExplicitGroups([]kong.Group{{Key: "connection", Title: "Connection:"}}),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, FlagsLast: true, WrapUpperBound: 110}),
	)
	if len(args) == 0 {
		parser.Stdout = c.stderr
		_, _ = parser.Parse([]string{"--help"}) // which is not a command, and the help is shown
		return exit.Usage
	}
	parsed, err := parser.Parse(translate(args))
	if shown {
		return exit.OK
	}
	if err != nil {
		fmt.Fprintf(c.stderr, "redlatch: %v; \"redlatch %s--help\" shows what can be given\n", err, misused(err))
		return exit.Usage
	}
	c.Shared = line.Shared
	err = parsed.Run(c)
	if unread(err) {
		err = exit.Silently(exit.Signalled + int(syscall.SIGPIPE))
	}
	if own := new(exit.Error); err != nil && !(errors.As(err, &own) && own.Err == nil) {
		hint := ""
		name, _, _ := strings.Cut(parsed.Command(), " ")
		if exit.Code(err) == exit.Usage {
			hint = fmt.Sprintf("; \"redlatch %s --help\" shows the flags", name)
		} else if advice := connect.Advice(err); advice != "" {
			hint = "; " + advice
		}
		// The server's own words for a key of another type say nothing that the text before them does not.
		text, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "redlatch: "), ": WRONGTYPE ")
		fmt.Fprintf(c.stderr, "redlatch %s: %s%s\n", name, text, hint)
	}
	return exit.Code(err)
}

// translate turns "help demo", "version" and the same with one dash into the flags that mean them.
func translate(args []string) []string {
	switch args[0] {
	case "help", "-help":
		return append(args[1:len(args):len(args)], "--help")
	case "version", "-version":
		return []string{"--version"}
	}
	return args
}

// misused is the command that an error of the parser is about, with a space behind it, or nothing.
func misused(err error) string {
	var wrong *kong.ParseError
	if !errors.As(err, &wrong) || wrong.Context == nil {
		return ""
	}
	name, _, _ := strings.Cut(wrong.Context.Command(), " ")
	if name == "" {
		return ""
	}
	return name + " "
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
