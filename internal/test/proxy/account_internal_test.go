package proxy

import (
	"bufio"
	"strings"
	"testing"
)

// What a server sends is one of: the answer to the oldest command, a message, or something out of turn. A mistake here
// shifts every later reply of the connection to the wrong command.
func TestFramesAreCountedToTheCommandTheyAnswer(t *testing.T) {
	command := func(words ...string) Command { return Command{Name: words[0], Args: words[1:]} }
	const (
		moved   = "-MOVED 1 127.0.0.1:1\r\n"
		message = "*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nx\r\n"
		subA    = "*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n"
		subB    = "*3\r\n$9\r\nsubscribe\r\n$1\r\nb\r\n:2\r\n"
		ssubA   = "*3\r\n$10\r\nssubscribe\r\n$1\r\na\r\n:1\r\n"
		sunsubA = "*3\r\n$12\r\nsunsubscribe\r\n$1\r\na\r\n:0\r\n"
		unsub0  = "*3\r\n$11\r\nunsubscribe\r\n$-1\r\n:0\r\n"
		pong2   = "*2\r\n$4\r\npong\r\n$0\r\n\r\n"
	)
	push := func(f string) string { return ">" + f[1:] }
	for name, c := range map[string]struct {
		commands []Command
		frames   []string
		pending  []int // left after each frame
		messages int
	}{
		"plain replies":                    {[]Command{command("GET", "k"), command("GET", "k")}, []string{"$-1\r\n", "_\r\n"}, []int{1, 0}, 0},
		"an attribute is no reply":         {[]Command{command("GET", "k")}, []string{"|1\r\n+a\r\n+b\r\n$1\r\nx\r\n"}, []int{0}, 0},
		"a map of maps":                    {[]Command{command("HELLO"), command("GET", "k")}, []string{"%2\r\n+a\r\n%1\r\n+b\r\n:1\r\n+c\r\n*-1\r\n"}, []int{1}, 0},
		"a list that looks like a message": {[]Command{command("LRANGE", "k")}, []string{message}, []int{0}, 0},
		"two names, two confirmations":     {[]Command{command("SUBSCRIBE", "a", "b"), command("PING")}, []string{subA, message, subB, message, pong2}, []int{2, 2, 1, 1, 0}, 2},
		"the same as pushes":               {[]Command{command("SUBSCRIBE", "a", "b"), command("PING")}, []string{push(subA), push(message), push(subB), "+PONG\r\n"}, []int{2, 2, 1, 0}, 1},
		"a reply before a confirmation":    {[]Command{command("PING"), command("SUBSCRIBE", "a")}, []string{push(message), "+PONG\r\n", push(subA)}, []int{2, 1, 0}, 1},
		"an error answers all names":       {[]Command{command("SSUBSCRIBE", "a", "b"), command("PING")}, []string{moved, "+PONG\r\n"}, []int{1, 0}, 0},
		"nothing to unsubscribe":           {[]Command{command("UNSUBSCRIBE"), command("PING")}, []string{unsub0, "+PONG\r\n"}, []int{1, 0}, 0},
		"a slot moves away":                {[]Command{command("SSUBSCRIBE", "a"), command("PING")}, []string{ssubA, sunsubA, pong2}, []int{1, 1, 0}, 0},
		"a slot moves away, as a push":     {[]Command{command("SSUBSCRIBE", "a"), command("PING")}, []string{push(ssubA), push(sunsubA), "+PONG\r\n"}, []int{1, 1, 0}, 0},
		"an unasked push":                  {[]Command{command("PING")}, []string{">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nk\r\n", "+PONG\r\n"}, []int{1, 0}, 0},
		"nobody asked":                     {nil, []string{"-ERR max number of clients reached\r\n"}, []int{0}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			l := &link{proxy: &Proxy{executed: make(map[string]int)}}
			for _, c := range c.commands {
				l.pending = append(l.pending, sent{command: c, left: l.subs.confirmations(c)})
			}
			r := bufio.NewReader(strings.NewReader(strings.Join(c.frames, "")))
			messages := 0
			for i, want := range c.frames {
				f, err := readFrame(r)
				if err != nil || string(f.raw) != want {
					t.Fatalf("frame %d is %q (%v), want %q", i, f.raw, err, want)
				}
				if _, message := l.accountLocked(f); message {
					messages++
				}
				if len(l.pending) != c.pending[i] {
					t.Fatalf("after %q %d commands have no answer yet, want %d", want, len(l.pending), c.pending[i])
				}
			}
			if messages != c.messages {
				t.Fatalf("%d messages, want %d", messages, c.messages)
			}
		})
	}
}

func TestWhatIsNotRESPIsReported(t *testing.T) {
	for _, text := range []string{"PING\r\n", "*1\r\nx\r\n", "$x\r\n", "\n", "*x\r\n"} {
		if f, err := readFrame(bufio.NewReader(strings.NewReader(text))); err == nil {
			t.Errorf("%q was read as %q", text, f.raw)
		}
	}
}
