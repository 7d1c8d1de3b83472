// Command serverpage asks servers what the library does on them, by using it there, and prints docs/servers.md:
//
//	.ci/servers | go run ./.ci/serverpage > docs/servers.md
//	.ci/servers | go run ./.ci/serverpage -check docs/servers.md
//
// With -lacks it prints the features that one server program lacks, with a comma between.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/test/servers"
)

func main() {
	lacks := flag.String("lacks", "", "print what the server `program` lacks")
	check := flag.String("check", "", "compare the page with this `file` instead of printing it")
	flag.Parse()
	redis.SetLogger(quiet{}) // connections that fail are what some rows are about
	if err := run(*lacks, *check); err != nil {
		fmt.Fprintln(os.Stderr, "serverpage:", err)
		os.Exit(1)
	}
}

func run(lacks, check string) error {
	if lacks != "" {
		names, err := missing(lacks)
		fmt.Println(strings.Join(names, ","))
		return err
	}
	columns, err := ask(os.Stdin)
	if err != nil {
		return err
	}
	page := write(columns)
	if check == "" {
		_, err = fmt.Print(page)
		return err
	}
	old, err := os.ReadFile(check)
	if err != nil {
		return err
	}
	if string(old) != page {
		return fmt.Errorf("%s is not what the servers say; make it again as .ci/serverpage/main.go tells. It would be:\n%s", check, page)
	}
	return nil
}

type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

// use has servers.Start take this program. The servers are asked one after another, for it is a variable of the process.
func use(program string) error { return os.Setenv(servers.Variable, program) }

func missing(program string) (names []string, err error) {
	if err = use(program); err != nil {
		return nil, err
	}
	s, err := servers.Start()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for _, f := range servers.Features {
		has, err := s.Has(context.Background(), f)
		if err != nil {
			return nil, err
		}
		if !has {
			names = append(names, f.Name)
		}
	}
	return names, nil
}

// A column is what one server does, one answer for each row.
type column struct {
	title   string
	answers []answer
}

var version = regexp.MustCompile(`(?i)^(redis|valkey) server v=([0-9.]+)`)

// ask reads lines of a name and a program, as .ci/servers prints them.
func ask(list io.Reader) (columns []column, err error) {
	lines := bufio.NewScanner(list)
	for lines.Scan() {
		name, program, ok := strings.Cut(lines.Text(), " ")
		if !ok {
			return nil, fmt.Errorf("a line is a name and a program, not %q", lines.Text())
		}
		says, err := exec.Command(program, "--version").Output()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		found := version.FindStringSubmatch(string(says))
		if found == nil {
			return nil, fmt.Errorf("%s says of its version: %s", name, says)
		}
		if err := use(program); err != nil {
			return nil, err
		}
		answers, err := answersOf()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		columns = append(columns, column{found[1] + " " + found[2], answers})
	}
	return columns, lines.Err()
}

const head = `# Servers

What the library does on each server. The table is made by ` + "`.ci/serverpage`" + `, which does what a row says on a server
of each kind; CI makes it again and compares, and runs the scripts' tables, the suite of the locks, the counters, a
failover and clusters that change on each of them ([` + "`.ci/matrix`" + `](../.ci/matrix); the whole test suite on Redis 7.0).
The programs come out of Python wheels for Linux, which [` + "`.ci/servers`" + `](../.ci/servers) pins by version and hash.

No version is looked at, neither here nor in the library: a server is asked what it has. (Valkey says that it is Redis
7.2.4.)

- *runs*: as documented.
- *falls back*: the promise holds, in another way; the note says in which.
- *does not apply*: the server has no such thing; the note says what that means.

`

const tail = `
Not in the table: TLS, which the Redis client does by itself, and Redis Functions, which the library does not use.
`

func write(columns []column) string {
	var b strings.Builder
	b.WriteString(head)
	cells := []string{"what"}
	for _, c := range columns {
		cells = append(cells, c.title)
	}
	line := func() { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	line()
	b.WriteString(strings.Repeat("|---", len(cells)) + "|\n")
	var notes []string
	for i, row := range rows {
		cells = cells[:0]
		cells = append(cells, row.what)
		for _, c := range columns {
			text := string(c.answers[i].verdict)
			if note := c.answers[i].note; note != "" {
				text += fmt.Sprintf(" (%d)", noted(&notes, note))
			}
			cells = append(cells, text)
		}
		line()
	}
	b.WriteString("\n")
	for i, note := range notes {
		fmt.Fprintf(&b, "%d. %s.\n", i+1, strings.ToUpper(note[:1])+note[1:])
	}
	b.WriteString(tail)
	return b.String()
}

// noted returns the number of a note, which is written once.
func noted(notes *[]string, note string) int {
	for i, n := range *notes {
		if n == note {
			return i + 1
		}
	}
	*notes = append(*notes, note)
	return len(*notes)
}
