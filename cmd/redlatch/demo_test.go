package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/demo"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/exit"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

// A running is a demo in a process of its own, with its workers.
type running struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdout bytes.Buffer
	lines  chan string // of stderr; closed at its end
}

func start(t *testing.T, srv *redistest.Server, args ...string) *running {
	t.Helper()
	r := prepare(t, srv, args...)
	r.start()
	return r
}

func prepare(t *testing.T, srv *redistest.Server, args ...string) *running {
	t.Helper()
	r := &running{t: t, lines: make(chan string, 1000)} // a test that stops reading must not stop the demo
	r.cmd = exec.Command(binary, append([]string{"demo", "--json", "--url", "redis://" + srv.Addr}, args...)...)
	r.cmd.Stdout = &r.stdout
	return r
}

func (r *running) start() {
	r.t.Helper()
	stderr, err := r.cmd.StderrPipe()
	require.NoError(r.t, err)
	require.NoError(r.t, r.cmd.Start())
	r.t.Cleanup(func() {
		_ = r.cmd.Process.Kill() // an error means that it has ended, as it should
	})
	go func() {
		defer close(r.lines)
		for scan := bufio.NewScanner(stderr); scan.Scan(); {
			r.lines <- scan.Text()
		}
	}()
}

// until reads stderr up to the line that contains the text, and returns that.
func (r *running) until(text string) string {
	r.t.Helper()
	limit := time.After(time.Minute)
	var seen []string
	for {
		select {
		case line, ok := <-r.lines:
			seen = append(seen, line)
			if strings.Contains(line, text) {
				return line
			}
			if !ok {
				r.t.Fatalf("the demo ended and did not say %q:\n%s", text, strings.Join(seen, "\n"))
			}
		case <-limit:
			r.t.Fatalf("the demo does not say %q:\n%s", text, strings.Join(seen, "\n"))
		}
	}
}

// printed is a result as it can be read back.
type printed struct {
	demo.Result
	Saw struct {
		When    string
		Objects []struct {
			Name, Kind string
			Holders    []struct{ Who string }
		}
	} `json:"saw"`
}

// wait returns the exit code and what was printed as JSON.
func (r *running) wait() (int, printed) {
	r.t.Helper()
	var said []string
	for line := range r.lines { // Wait closes the pipe, so all is to be read before
		said = append(said, line)
	}
	r.t.Log(strings.Join(said, "\n"))
	if err := r.cmd.Wait(); err != nil {
		var ended *exec.ExitError
		require.True(r.t, errors.As(err, &ended), err)
	}
	var result printed
	require.NoError(r.t, json.Unmarshal(r.stdout.Bytes(), &result), r.stdout.String())
	return r.cmd.ProcessState.ExitCode(), result
}

// left are the keys of demos on the server.
func left(t *testing.T, srv *redistest.Server) []string {
	t.Helper()
	keys, err := srv.Client(t).Keys(context.Background(), "*redlatch-demo:*").Result()
	require.NoError(t, err)
	return keys
}

// pids are the processes of the workers, from the line that names them.
func pids(t *testing.T, line string) []int {
	t.Helper()
	_, list, found := strings.Cut(line, "processes ")
	require.True(t, found, line)
	var all []int
	for _, word := range strings.Fields(list) {
		pid, err := strconv.Atoi(word)
		require.NoError(t, err, line)
		all = append(all, pid)
	}
	return all
}

func TestTheDemoKillsAHolderAndHolds(t *testing.T) {
	each(t, func(t *testing.T, srv *redistest.Server) {
		d := start(t, srv, "--jobs", "10")
		d.until(`What "redlatch ls" saw`)
		d.until("HELD BY")
		require.Regexp(t, `lock .*\S.* 0\.\d s|lock .*\S.* 1\.\d s`, d.until(":lock"))
		code, r := d.wait()
		require.Zero(t, code)
		require.Equal(t, demo.Schema, r.Schema)
		require.Contains(t, r.Saw.When, "after the kill")
		require.Equal(t, "lock", r.Saw.Objects[0].Kind)
		require.Contains(t, r.Saw.Objects[0].Name, ":lock")
		require.Len(t, r.Saw.Objects[0].Holders, 1)
		require.Regexp(t, `^\S+ redlatch pid \d+$`, r.Saw.Objects[0].Holders[0].Who)
		require.True(t, r.OK)
		require.Empty(t, r.Reasons)
		require.Equal(t, 10, r.Numbers.JobsDone)
		require.Equal(t, int64(2), r.Numbers.MostInside)
		require.Zero(t, r.Numbers.Overlaps)
		require.NotZero(t, r.Numbers.Victim)
		require.Positive(t, r.Numbers.TakeoverMS)
		require.Empty(t, left(t, srv))
	})
}

func TestTheDemoKillsNobodyIfAskedNotTo(t *testing.T) {
	each(t, func(t *testing.T, srv *redistest.Server) {
		code, r := start(t, srv, "--no-kill", "--workers", "3", "--jobs", "6", "--permits", "3").wait()
		require.Zero(t, code)
		require.True(t, r.OK)
		require.Zero(t, r.Numbers.Victim)
		require.Zero(t, r.Numbers.Retaken)
		require.Equal(t, 6, r.Numbers.JobsTaken)
		require.Empty(t, left(t, srv))
	})
}

// However a worker ends, the rest of them carry on, and the verdict is about what they did.
func TestAWorkerKilledFromOutsideDoesNotHangTheDemo(t *testing.T) {
	each(t, func(t *testing.T, srv *redistest.Server) {
		r := start(t, srv, "--no-kill", "--workers", "3", "--jobs", "30")
		victims := pids(t, r.until("workers started"))
		r.until("start latch")
		moment := rand.N(600 * time.Millisecond) // any before the end: ten jobs in a row take twice as long
		t.Logf("one is killed %v after the start", moment)
		time.Sleep(moment)
		worker, err := os.FindProcess(victims[rand.N(len(victims))])
		require.NoError(t, err)
		require.NoError(t, worker.Kill())
		code, result := r.wait()
		require.Zero(t, code, result.Reasons)
		require.Equal(t, 30, result.Numbers.JobsDone)
		require.Equal(t, 1, result.Numbers.Died)
		require.NotEmpty(t, result.Notes)
		require.Empty(t, left(t, srv))
	})
}

func TestTheDemoEndsWhenAllWorkersAreKilled(t *testing.T) {
	srv := redistest.Mini(t)
	r := start(t, srv, "--no-kill", "--workers", "2")
	victims := pids(t, r.until("workers started"))
	r.until("start latch")
	for _, pid := range victims {
		worker, err := os.FindProcess(pid)
		require.NoError(t, err)
		require.NoError(t, worker.Kill())
	}
	code, result := r.wait()
	require.Equal(t, exit.Failed, code)
	require.Equal(t, 2, result.Numbers.Died)
	require.Contains(t, strings.Join(result.Reasons, "\n"), "every job done exactly once")
	require.Empty(t, left(t, srv))
}

func TestWorkersEndWithAParentThatIsKilled(t *testing.T) {
	srv := redistest.Process(t)
	ctx := t.Context()
	client := srv.Client(t) // one after the other: all its commands use one connection
	connections := func() map[string]bool {
		list, err := client.Do(ctx, "client", "list").Text()
		require.NoError(t, err)
		ids := map[string]bool{}
		for line := range strings.Lines(list) {
			id, _, _ := strings.Cut(line, " ") // "id=7 addr=..."
			ids[id] = true
		}
		return ids
	}
	demos := func() []string {
		keys, err := client.Keys(ctx, "*redlatch-demo:*").Result()
		require.NoError(t, err)
		return keys
	}
	ours := connections()
	r := start(t, srv, "--no-kill", "--jobs", "1000")
	r.until("start latch")
	require.Greater(t, len(connections()), len(ours)+4, "parent and workers are connected")
	require.NoError(t, r.cmd.Process.Kill())

	limit := time.Now().Add(30 * time.Second)
	for theirs := 1; theirs > 0; time.Sleep(20 * time.Millisecond) {
		theirs = 0
		for id := range connections() {
			if !ours[id] {
				theirs++
			}
		}
		require.True(t, time.Now().Before(limit), "workers outlive their parent")
	}
	for len(demos()) > 0 {
		locked := false
		for _, key := range demos() {
			ttl, err := client.PTTL(ctx, key).Result()
			require.NoError(t, err)
			require.NotEqual(t, time.Duration(-1), ttl, "%s stays for ever", key)
			locked = locked || strings.Contains(key, ":present:") || strings.HasSuffix(key, ":lock")
		}
		if !locked {
			return
		}
		require.True(t, time.Now().Before(limit), "a lock outlives its lease")
		time.Sleep(20 * time.Millisecond)
	}
}
