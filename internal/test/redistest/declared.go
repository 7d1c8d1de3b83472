package redistest

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Watched is a [Process] of which Declared is true.
func Watched(tb testing.TB) *Server {
	tb.Helper()
	s := Process(tb)
	s.Declared(tb)
	return s
}

// Declared fails the test in the end if a script has touched a key on this server that its command had not declared. It watches by
// MONITOR, in which the commands of a script stand behind the one that has called it.
func (s *Server) Declared(tb testing.TB) {
	tb.Helper()
	conn, err := net.Dial("tcp", s.own().Addr())
	must(tb, err)
	_, err = conn.Write([]byte("MONITOR\r\n"))
	must(tb, err)
	lines := bufio.NewReader(conn)
	_, err = lines.ReadString('\n') // +OK
	must(tb, err)
	watched := make(chan map[string]int, 1)
	go func() {
		w := witness{found: map[string]int{}}
		for !w.over {
			line, err := lines.ReadString('\n')
			if err != nil {
				w.found[err.Error()]++
				break
			}
			w.hear(line)
		}
		watched <- w.found
	}()
	tb.Cleanup(func() {
		defer conn.Close()
		_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
		must(tb, s.admin.Echo(context.Background(), lastWord).Err())
		for what, times := range <-watched {
			tb.Errorf("%s (%d times)", what, times)
		}
	})
}

const lastWord = "redistest: all was seen"

// A witness hears the lines of MONITOR.
type witness struct {
	declared []string
	found    map[string]int
	over     bool
}

var quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

func (w *witness) hear(line string) {
	_, line, _ = strings.Cut(line, " [")
	from, line, _ := strings.Cut(line, "]")
	var args []string
	for _, text := range quoted.FindAllString(line, -1) {
		arg, err := strconv.Unquote(text)
		if err != nil {
			arg = text
		}
		args = append(args, arg)
	}
	if len(args) == 0 {
		return
	}
	name := strings.ToLower(args[0])
	switch {
	case strings.HasSuffix(from, " lua"):
		for _, key := range touched(name, args[1:]) {
			if !slices.Contains(w.declared, key) {
				w.found[fmt.Sprintf("a script has %s touch %q and declares %q", name, key, w.declared)]++
			}
		}
	case name == "evalsha" || name == "eval":
		n, _ := strconv.Atoi(args[2])
		w.declared = args[3 : 3+n]
	case name == "echo" && args[1] == lastWord:
		w.over = true
	}
}

// touched are the keys among the arguments of a command that a script calls.
func touched(name string, args []string) []string {
	switch name {
	case "time", "publish", "spublish", "pubsub":
		return nil
	case "del", "exists":
		return args
	}
	return args[:1]
}
