package interop_test

import (
	"bufio"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// A witness is told by every worker of a storm, of either language, when it asks for an object, when it is in and when
// it leaves, each over a connection of its own and in lines of text:
//
//	hello go-1             who I am
//	ask orders             I am about to ask for this object
//	enter alone 17         I have it: alone, shared or permit; with this token, or 0
//	exit                   I am about to give it back
//	refused                I did not get it
//
// It answers each with "go", or with "stop" when the storm is over. It knows nothing of Redis: its word against
// the locks' word.
//
// A connection that ends is a process that died, and what it was in it is in no more. A process that stands still for
// longer than its leases is in no more either, though it does not know yet, and what it asked for before may be given
// to it and taken away again while it sleeps: the test says when (void). Such grants are excused from the check, and
// counted.
type witness struct {
	listener net.Listener
	serving  sync.WaitGroup

	mu         sync.Mutex
	objects    map[string]*scene
	epochs     map[string]int // of each process: how often it was void
	visits     map[*visit]struct{}
	violations []string
	granted    map[string]int // by the language, which is the beginning of a process's name, and by object
	excused    int
	refused    int
	total      int
	stopped    bool
	expected   int // processes that have to have come before anybody is answered
	allHere    chan struct{}
}

// A scene is who is in an object.
type scene struct {
	permits        int // how many may be in with a permit
	alone, sharing int
	permitted      int
	token          int64 // the greatest
}

// A visit is what one connection has told.
type visit struct {
	process string
	object  string
	epoch   int // of its process when it asked
	mode    string
	conn    net.Conn
}

func newWitness(t *testing.T, processes int, permits map[string]int) *witness {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	w := &witness{
		listener: listener, expected: processes, allHere: make(chan struct{}),
		objects: map[string]*scene{}, epochs: map[string]int{}, visits: map[*visit]struct{}{}, granted: map[string]int{},
	}
	for name, n := range permits {
		w.objects[name] = &scene{permits: n}
	}
	w.serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // closed
			}
			w.serving.Go(func() { w.serve(conn) })
		}
	})
	t.Cleanup(w.close)
	return w
}

func (w *witness) close() {
	_ = w.listener.Close()
	w.mu.Lock()
	if len(w.epochs) < w.expected {
		w.expected = len(w.epochs)
		close(w.allHere)
	}
	for v := range w.visits {
		_ = v.conn.Close()
	}
	w.mu.Unlock()
	w.serving.Wait()
}

func (w *witness) port() int { return w.listener.Addr().(*net.TCPAddr).Port }

func (w *witness) serve(conn net.Conn) {
	v := &visit{conn: conn}
	w.mu.Lock()
	w.visits[v] = struct{}{}
	w.mu.Unlock()
	defer func() {
		_ = conn.Close()
		w.mu.Lock()
		w.leave(v)
		delete(w.visits, v)
		w.mu.Unlock()
	}()
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		answer := w.hear(v, strings.Fields(lines.Text()))
		<-w.allHere // a JVM starts slowly, and should not come to a storm that is over
		if _, err := fmt.Fprintln(conn, answer); err != nil {
			return
		}
	}
}

func (w *witness) hear(v *visit, words []string) (answer string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case words[0] == "hello":
		v.process = words[1]
		if _, again := w.epochs[v.process]; !again {
			w.epochs[v.process] = 0
			if len(w.epochs) == w.expected {
				close(w.allHere)
			}
		}
	case words[0] == "ask":
		v.object, v.epoch = words[1], w.epochs[v.process]
	case words[0] == "enter":
		token, _ := strconv.ParseInt(words[2], 10, 64)
		w.enter(v, words[1], token)
	case words[0] == "exit":
		w.leave(v)
	case words[0] == "refused":
		w.refused++
	}
	if w.stopped {
		return "stop"
	}
	return "go"
}

func (w *witness) enter(v *visit, mode string, token int64) {
	if v.epoch != w.epochs[v.process] {
		w.excused++
		return
	}
	o := w.objects[v.object]
	if o == nil {
		o = &scene{}
		w.objects[v.object] = o
	}
	complain := func(why string) {
		w.violations = append(w.violations, fmt.Sprintf("%s entered %s %s although %s", v.process, v.object, mode, why))
	}
	switch {
	case o.alone > 0:
		complain("somebody is in alone")
	case mode == "alone" && o.sharing > 0:
		complain("readers are in")
	case mode == "permit" && o.permitted >= o.permits:
		complain("all permits are taken")
	}
	if token != 0 {
		if token <= o.token {
			complain(fmt.Sprintf("its token %d is not greater than %d", token, o.token))
		}
		o.token = token
	}
	v.mode = mode
	o.count(mode, 1)
	w.total++
	language, _, _ := strings.Cut(v.process, "-")
	w.granted[language]++
	w.granted[v.object]++
}

func (w *witness) leave(v *visit) {
	if v.mode != "" {
		w.objects[v.object].count(v.mode, -1)
		v.mode = ""
	}
}

func (s *scene) count(mode string, d int) {
	switch mode {
	case "alone":
		s.alone += d
	case "shared":
		s.sharing += d
	case "permit":
		s.permitted += d
	}
}

// void says that this process has stood still for so long that its leases may end.
func (w *witness) void(process string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.epochs[process]++
	for v := range w.visits {
		if v.process == process {
			w.leave(v)
		}
	}
}

// stop makes all workers end with their next word.
func (w *witness) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
}

func (w *witness) seen() (total int, violations []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.total, w.violations
}

// The witness itself is shown what it has to find.
func TestTheWitnessFindsWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		name  string
		lines []string // "visitor word word"
		wrong int
	}{
		{"two alone", []string{"a enter alone 0", "b enter alone 0"}, 1},
		{"one after the other", []string{"a enter alone 0", "a exit", "b enter alone 0"}, 0},
		{"two readers", []string{"a enter shared 0", "b enter shared 0"}, 0},
		{"a writer beside a reader", []string{"a enter shared 0", "b enter alone 0"}, 1},
		{"a reader beside a writer", []string{"a enter alone 0", "b enter shared 0"}, 1},
		{"two of two permits", []string{"a enter permit 0", "b enter permit 0"}, 0},
		{"three of two permits", []string{"a enter permit 0", "b enter permit 0", "c enter permit 0"}, 1},
		{"a token twice", []string{"a enter alone 7", "a exit", "b enter alone 7"}, 1},
		{"an older token", []string{"a enter alone 7", "a exit", "b enter alone 6"}, 1},
		{"a newer token", []string{"a enter alone 7", "a exit", "b enter alone 8"}, 0},
		{"after the first was void", []string{"a enter alone 0", "a void", "b enter alone 0", "a exit", "c enter alone 0"}, 1},
		{"given to one who slept", []string{"a ask it", "b enter alone 0", "a void", "a enter alone 0"}, 0},
	} {
		w := newWitness(t, 4, map[string]int{"it": 2})
		visits := map[string]*visit{}
		for _, line := range c.lines {
			words := strings.Fields(line)
			v := visits[words[0]]
			if v == nil {
				v = &visit{}
				visits[words[0]] = v
				w.hear(v, []string{"hello", words[0]})
				w.hear(v, []string{"ask", "it"})
			}
			if words[1] == "void" {
				w.mu.Lock()
				w.epochs[v.process]++
				w.leave(v)
				w.mu.Unlock()
				continue
			}
			require.Equal(t, "go", w.hear(v, words[1:]))
		}
		_, violations := w.seen()
		require.Len(t, violations, c.wrong, c.name)
	}
}
