package load

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/redlatch/redlatch/benchmarks/internal/library"
)

// Java is a process of the program in interop/java, which holds Redisson. One of them serves all scenarios.
type Java struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	answers *json.Decoder
	last    int
	warmed  map[string]bool // kinds of primitives, and keys of plain locks
}

// StartJava builds the program in folder if need be and opens one Redisson client on the server. It fails at once
// where java or mvn is missing.
func StartJava(folder, addr string) (*Java, error) {
	classes, err := compiled(folder)
	if err != nil {
		return nil, err
	}
	// Not as the tests start it, which want it small and quick to start: here the compiler may take its time.
	j := &Java{cmd: exec.Command("java", "-Xmx512m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-cp", classes, "peer.Peer"), warmed: map[string]bool{}}
	j.cmd.Stderr = os.Stderr
	if j.in, err = j.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := j.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := j.cmd.Start(); err != nil {
		return nil, err
	}
	j.answers = json.NewDecoder(bufio.NewReader(out))
	open := map[string]any{"op": "open", "client": "bench", "addresses": []string{"redis://" + addr}}
	if err := j.call(open, nil); err != nil {
		return nil, errors.Join(err, j.Close())
	}
	return j, nil
}

// compiled returns the class path, after a build if a source is younger than what was built.
func compiled(folder string) (string, error) {
	for _, tool := range []string{"java", "mvn"} {
		if _, err := exec.LookPath(tool); err != nil {
			return "", err
		}
	}
	classes := filepath.Join(folder, "target", "classes")
	built, err := os.Stat(filepath.Join(classes, "peer", "Bench.class"))
	fresh := err == nil
	err = filepath.WalkDir(filepath.Join(folder, "src"), func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		fresh = fresh && err == nil && !info.ModTime().After(built.ModTime())
		return err
	})
	if err != nil {
		return "", err
	}
	if !fresh {
		maven := exec.Command("mvn", "--quiet", "--batch-mode", "compile")
		maven.Dir = folder
		if out, err := maven.CombinedOutput(); err != nil {
			return "", fmt.Errorf("build %s: %w\n%s", folder, err, out)
		}
	}
	return strings.Join([]string{classes, filepath.Join(folder, "target", "lib", "*")}, string(os.PathListSeparator)), nil
}

// Runner has callers threads want one key each, or all the same.
func (j *Java) Runner(key string, callers int, own bool) Runner {
	return &javaRunner{java: j, key: key, callers: callers, own: own}
}

// Primitive makes a runner of callers threads that want the same object. kind is a kind that the Java program knows. members
// are the keys of the locks that the object is made of, nil if it is not made of others.
func (j *Java) Primitive(kind, key string, members []string, callers int) Runner {
	return &javaRunner{java: j, kind: kind, key: key, members: members, callers: callers}
}

// Close ends the process by the end of its input.
func (j *Java) Close() error { return errors.Join(j.in.Close(), j.cmd.Wait()) }

func (j *Java) call(command map[string]any, result any) error {
	j.last++
	command["id"] = j.last
	if err := json.NewEncoder(j.in).Encode(command); err != nil {
		return fmt.Errorf("the Java process: %w", err)
	}
	var a struct {
		Result json.RawMessage
		Error  string
	}
	if err := j.answers.Decode(&a); err != nil {
		return fmt.Errorf("the Java process has ended: %w", err)
	}
	if a.Error != "" {
		return fmt.Errorf("the Java process: %s", a.Error)
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(a.Result, result)
}

type javaRunner struct {
	java    *Java
	kind    string // empty: a lock
	key     string
	members []string
	callers int
	own     bool
}

// warming is how long a runner of a new kind runs before it is measured, so that its code is compiled by then.
const warming = 2 * time.Second

func (r *javaRunner) Block(length time.Duration) (Block, error) {
	if what := cmp.Or(r.kind, r.key); !r.java.warmed[what] {
		r.java.warmed[what] = true
		if _, err := r.block(warming); err != nil {
			return Block{}, err
		}
	}
	return r.block(length)
}

func (r *javaRunner) block(length time.Duration) (b Block, err error) {
	command := map[string]any{
		"op": "bench", "client": "bench", "name": r.key, "threads": r.callers, "millis": length.Milliseconds(),
		"ramp": ramp(length).Milliseconds(),
	}
	if r.own {
		command["own"] = true
	}
	if r.kind != "" {
		command["kind"], command["names"], command["permits"] = r.kind, r.members, library.Permits
	}
	return b, r.java.call(command, &b)
}

// Close leaves the process to the other scenarios.
func (r *javaRunner) Close() error { return nil }
