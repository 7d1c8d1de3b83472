package interop_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// patience bounds every wait of a test. It is long, for what it cuts off is a failure.
const patience = 60 * time.Second

type fields map[string]any

// A jvm is one process of the Java side.
type jvm struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	read   chan struct{} // closed when its last answer was read
	stderr tail

	mu      sync.Mutex
	last    int
	pending map[int]chan answer
}

type answer struct {
	ID     int
	Result json.RawMessage
	Error  string
	Millis float64
}

// startJVM builds the program if need be and starts it, small and quick to start.
func startJVM() (*jvm, error) {
	classes, err := build()
	if err != nil {
		return nil, err
	}
	j := &jvm{pending: map[int]chan answer{}, read: make(chan struct{})}
	j.cmd = exec.Command("java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", classes, "peer.Peer")
	j.cmd.Stderr = &j.stderr
	if j.stdin, err = j.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := j.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := j.cmd.Start(); err != nil {
		return nil, err
	}
	go j.listen(out)
	return j, nil
}

// listen hands out the answers until there are no more; then everybody who waits for one is told.
func (j *jvm) listen(out io.Reader) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var a answer
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			a.Error = fmt.Sprintf("the Java side answered %q: %v", lines.Bytes(), err)
		}
		j.mu.Lock()
		reply := j.pending[a.ID]
		delete(j.pending, a.ID)
		j.mu.Unlock()
		if reply != nil {
			reply <- a
		}
	}
	j.mu.Lock()
	for _, reply := range j.pending {
		reply <- answer{Error: errGone.Error()}
	}
	j.pending = nil
	j.mu.Unlock()
	close(j.read)
}

var errGone = errors.New("the Java side has ended")

// send gives a command; its answer comes on the channel.
func (j *jvm) send(command fields) (<-chan answer, error) {
	reply := make(chan answer, 1)
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.pending == nil {
		return nil, errGone
	}
	j.last++
	line := fields{"id": j.last}
	for name, value := range command {
		line[name] = value
	}
	text, err := json.Marshal(line)
	if err != nil {
		return nil, err
	}
	j.pending[j.last] = reply
	_, err = j.stdin.Write(append(text, '\n'))
	return reply, err
}

// call gives a command, waits for its answer and reads the result into result unless that is nil.
func (j *jvm) call(command fields, result any) error {
	reply, err := j.send(command)
	if err != nil {
		return fmt.Errorf("%v: %w\n%s", command, err, j.stderr.String())
	}
	var a answer
	select {
	case a = <-reply:
	case <-time.After(patience):
		return fmt.Errorf("the Java side did not answer %v\n%s", command, j.stderr.String())
	}
	if a.Error != "" {
		return javaError{a.Error}
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(a.Result, result)
}

// A javaError is an exception, as text: its class and its message.
type javaError struct{ text string }

func (e javaError) Error() string { return e.text }

func (e javaError) Is(target error) bool {
	return target == errNotOwner && bytes.Contains([]byte(e.text), []byte("IllegalMonitorStateException"))
}

// stop ends the program as its users do, by the end of its input.
func (j *jvm) stop() {
	_ = j.stdin.Close()
	<-j.read
	_ = j.cmd.Wait()
}

// kill ends the program at once, whatever it is doing.
func (j *jvm) kill() {
	_ = j.cmd.Process.Kill()
	<-j.read
	_ = j.cmd.Wait()
	_ = j.stdin.Close()
}

// A tail keeps the end of what was written to it.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - 16_000; over > 0 {
		t.kept = t.kept[over:]
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.kept)
}

// redisson is the Java process that all tests share but the storm, which kills its own. Each test opens Redisson
// clients of its own in it.
var redisson shared

type shared struct {
	once sync.Once
	jvm  *jvm
	err  error
}

func (s *shared) start(t *testing.T) *jvm {
	t.Helper()
	s.once.Do(func() { s.jvm, s.err = startJVM() })
	require.NoError(t, s.err)
	return s.jvm
}

func (s *shared) stop() {
	if s.jvm != nil {
		s.jvm.stop()
		if os.Getenv("REDLATCH_INTEROP_LOG") != "" {
			fmt.Println(s.jvm.stderr.String())
		}
	}
}
