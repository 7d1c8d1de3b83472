//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/connect"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/exit"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/run"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/test/faultproxy"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/rwlock"
	"github.com/redlatch/redlatch/semaphore"
)

// runner makes "redlatch run" on a server.
func runner(srv *redistest.Server, args ...string) *exec.Cmd {
	cmd := exec.Command(binary, append([]string{"run"}, args...)...)
	cmd.Env = append(os.Environ(), connect.URLVariable+"=redis://"+srv.Addr)
	cmd.Stdout, cmd.Stderr = &bytes.Buffer{}, &bytes.Buffer{}
	return cmd
}

// finish runs it to its end.
func finish(t *testing.T, cmd *exec.Cmd) (code int, stdout, stderr string) {
	t.Helper()
	_ = cmd.Run() // the exit code says it all
	require.NotNil(t, cmd.ProcessState)
	return cmd.ProcessState.ExitCode(), cmd.Stdout.(*bytes.Buffer).String(), cmd.Stderr.(*bytes.Buffer).String()
}

// begin starts it and returns when the command has written a line.
func begin(t *testing.T, cmd *exec.Cmd) (rest io.Reader) {
	t.Helper()
	cmd.Stdout = nil
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // an error means that it has ended, as it should
		_ = cmd.Wait()
	})
	first := make([]byte, 1)
	for first[0] != '\n' {
		_, err := io.ReadFull(out, first)
		require.NoError(t, err, cmd.Stderr)
	}
	return out
}

func TestRunPassesOnWhatTheCommandSaysAndItsExitCode(t *testing.T) {
	srv := redistest.Process(t)
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"a", "--", "echo", "--url", "-n"}, 0, "--url -n\n"},
		{[]string{"a", "echo", "plain"}, 0, "plain\n"},
		{[]string{"a", "-c", "echo shell; exit 3"}, 3, "shell\n"},
		{[]string{"a", "--", "sh", "-c", "kill -9 $$"}, exit.Signalled + 9, ""},
		{[]string{"a", "--", "no-such-program"}, exit.NotFound, ""},
		{[]string{"a", "--", "./no-such-program"}, exit.NotFound, ""},
		{[]string{"a", "--", "/dev/null"}, exit.NotExecutable, ""},
		{[]string{"a"}, exit.Usage, ""},
		{[]string{"a", "-c", "x", "--", "y"}, exit.Usage, ""},
		{[]string{"--kill-after", "11s", "a", "true"}, exit.Usage, ""},
		{[]string{"--lease", "1s", "a", "true"}, exit.Usage, ""},
		{[]string{"-s", "-x", "a", "true"}, exit.Usage, ""},
		{[]string{"-N", "0", "a", "true"}, exit.Usage, ""},
		{[]string{"-E", "256", "a", "true"}, exit.Usage, ""},
		{[]string{"--url", "redis://127.0.0.1:1", "-n", "a", "true"}, exit.Unavailable, ""},
	} {
		code, stdout, stderr := finish(t, runner(srv, c.args...))
		require.Equal(t, c.code, code, "%q: %s", c.args, stderr)
		require.Equal(t, c.says, stdout, "%q", c.args)
		require.Equal(t, c.code < 64 || c.code > exit.Signalled, stderr == "", "%q: %q", c.args, stderr)
	}
	locked, err := rlock.New(srv.Client(t), "a").IsLocked(t.Context())
	require.NoError(t, err)
	require.False(t, locked)
}

func TestATakenLockEndsARunThatDoesNotWait(t *testing.T) {
	srv := redistest.Process(t)
	lock := rlock.New(srv.Client(t), "a")
	hold, err := lock.Lock(t.Context())
	require.NoError(t, err)
	result := filepath.Join(t.TempDir(), "result")
	for args, want := range map[string]int{"-n a": exit.Busy, "-w 0 a": exit.Busy, "-w 0.1 a": exit.Busy, "-n -E 9 a": 9, "-w 10ms -E 0 a": 0} {
		code, stdout, stderr := finish(t, runner(srv, append(strings.Fields("--result "+result+" "+args), "--", "echo", "in")...))
		require.Equal(t, want, code, stderr)
		require.Empty(t, stdout)
		if strings.Contains(args, "0.1") || strings.Contains(args, "10ms") {
			require.Contains(t, stderr, "a is taken, and the wait of 1")
			require.Contains(t, stderr, "held by ")
		} else {
			require.Empty(t, stderr, "as of flock -n")
		}
		require.Equal(t, "busy", outcome(t, result).Outcome)
	}
	waiting := runner(srv, "a", "--", "echo", "in")
	require.NoError(t, waiting.Start())
	require.NoError(t, hold.Unlock(t.Context()))
	require.NoError(t, waiting.Wait())
}

func outcome(t *testing.T, file string) (r run.Result) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &r), string(text))
	return r
}

func TestTheResultTellsACommandsCodeFromRedlatchs(t *testing.T) {
	srv := redistest.Process(t)
	file := filepath.Join(t.TempDir(), "result")
	code, _, _ := finish(t, runner(srv, "--result", file, "a", "-c", "exit 75"))
	require.Equal(t, 75, code)
	r := outcome(t, file)
	require.Equal(t, "exited", r.Outcome)
	require.Equal(t, 75, *r.ExitCode)
	require.NotEmpty(t, r.Owner)
	finish(t, runner(srv, "--result", file, "a", "-c", "kill -9 $$"))
	require.Equal(t, "signalled", outcome(t, file).Outcome)
	require.Equal(t, 9, outcome(t, file).Signal)
	finish(t, runner(srv, "--result", file, "a", "no-such-program"))
	require.Equal(t, "not-found", outcome(t, file).Outcome)
	code, _, _ = finish(t, runner(srv, "--result", "/no/such/folder", "a", "true"))
	require.Equal(t, exit.Usage, code)
}

func TestANameOfAnotherKindIsNotTakenForABusyLock(t *testing.T) {
	srv := redistest.Process(t)
	client, ctx := srv.Client(t), context.Background()
	_, err := semaphore.New(client, "counter").TrySetPermits(ctx, 1)
	require.NoError(t, err)
	plain, err := rlock.New(client, "plain").Lock(ctx)
	require.NoError(t, err)
	defer plain.Unlock(ctx)
	shared, err := rwlock.New(client, "shared").RLock(ctx)
	require.NoError(t, err)
	defer shared.Unlock(ctx)
	for _, args := range []string{"counter", "-s counter", "-x plain", "-s plain", "-n shared", "-N 1 plain"} {
		code, _, stderr := finish(t, runner(srv, append(strings.Fields(args), "true")...))
		require.Equal(t, exit.WrongKind, code, "%s: %s", args, stderr)
	}
}

func TestSharedRunsShareAndPermitsAreCounted(t *testing.T) {
	srv := redistest.Process(t)
	code := func(args ...string) int { code, _, _ := finish(t, runner(srv, args...)); return code }
	begin(t, runner(srv, "-s", "a", "-c", "echo; exec sleep 100"))
	require.Zero(t, code("-n", "-s", "a", "true"))
	require.Equal(t, exit.Busy, code("-n", "-x", "a", "true"))
	begin(t, runner(srv, "-N", "2", "b", "-c", "echo; exec sleep 100"))
	require.Zero(t, code("-n", "-N", "2", "b", "true"))
	begin(t, runner(srv, "-N", "2", "b", "-c", "echo; exec sleep 100"))
	require.Equal(t, exit.Busy, code("-n", "-N", "2", "b", "true"))
	require.Equal(t, exit.Usage, code("-n", "-N", "3", "b", "true"))
}

func TestTheLockIsHeldUntilNoDescendantLives(t *testing.T) {
	srv := redistest.Process(t)
	lock := rlock.New(srv.Client(t), "a")
	script := "(exec sleep 1000) >/dev/null 2>&1 & echo $!; exit 5"
	cmd := runner(srv, "a", "-c", script)
	cmd.Stdout = nil
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	word, err := io.ReadAll(io.LimitReader(out, 2))
	require.NoError(t, err)
	locked, err := lock.IsLocked(t.Context())
	require.NoError(t, err)
	require.True(t, locked, "%s", word)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM)) // to what is left, since the command has ended or is about to
	require.Error(t, cmd.Wait())
	locked, err = lock.IsLocked(t.Context())
	require.NoError(t, err)
	require.False(t, locked)

	code, _, _ := finish(t, runner(srv, "--close", "a", "-c", "(exec sleep 2) >/dev/null 2>&1 & exit 5"))
	require.Equal(t, 5, code)
	locked, err = lock.IsLocked(t.Context())
	require.NoError(t, err)
	require.False(t, locked)
}

func TestSignalsReachTheCommand(t *testing.T) {
	srv := redistest.Process(t)
	for name, sig := range map[string]syscall.Signal{
		"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "QUIT": syscall.SIGQUIT, "HUP": syscall.SIGHUP, "USR1": syscall.SIGUSR1,
	} {
		cmd := runner(srv, "a", "-c", "trap 'exit 9' "+name+"; echo; while :; do sleep 0.01; done")
		begin(t, cmd)
		require.NoError(t, cmd.Process.Signal(sig))
		require.Error(t, cmd.Wait())
		require.Equal(t, 9, cmd.ProcessState.ExitCode(), name)
	}
}

func TestASignalEndsTheWait(t *testing.T) {
	srv := redistest.Process(t)
	lock := rlock.New(srv.Client(t), "a")
	hold, err := lock.Lock(t.Context())
	require.NoError(t, err)
	for sig, code := range map[syscall.Signal]int{
		syscall.SIGINT: exit.Interrupted, syscall.SIGTERM: exit.Terminated, syscall.SIGQUIT: exit.Signalled + 3,
	} {
		before := connections(t, srv)
		cmd := runner(srv, "a", "true")
		require.NoError(t, cmd.Start())
		redistest.Eventually(t, "a waiter", func() bool { return connections(t, srv) > before+1 }) // the second is subscribed
		require.NoError(t, cmd.Process.Signal(sig))
		require.Error(t, cmd.Wait())
		require.Equal(t, code, cmd.ProcessState.ExitCode(), cmd.Stderr)
	}
	require.NoError(t, hold.Unlock(t.Context()))
}

func connections(t *testing.T, srv *redistest.Server) int {
	list, err := srv.Client(t).Do(context.Background(), "client", "list").Text()
	require.NoError(t, err)
	return strings.Count(list, "\n") - strings.Count(list, "cmd=client") // without the one that asks
}

func TestARunOfTheSameLockWithinARunReenters(t *testing.T) {
	srv := redistest.Process(t)
	nested := func(outer, inner string) string {
		script := binary + " run -n " + inner + " echo in; echo $?"
		_, stdout, _ := finish(t, runner(srv, append(strings.Fields(outer), "-c", script)...))
		return strings.ReplaceAll(stdout, "\n", " ")
	}
	require.Equal(t, "in 0 ", nested("a", "a"))
	require.Equal(t, "in 0 ", nested("a", "b"))
	require.Equal(t, "in 0 ", nested("-x a", "-s a"))
	require.Equal(t, "in 0 ", nested("-s a", "-s a"))
	require.Equal(t, "75 ", nested("-s a", "-x a"), "an upgrade")
	require.Equal(t, "75 ", nested("--close a", "a"), "the outer hold may end before")
	script := "exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-; " + binary + " run a echo in; echo $?"
	_, stdout, _ := finish(t, runner(srv, "a", "-c", script))
	require.Equal(t, "75\n", stdout, "it would wait for itself")
	t.Setenv("REDLATCH_OWNER", "8d34d176-43e3-83d2-a0f5-210b4df2e972:1")
	t.Setenv("REDLATCH_NAME", "a")
	t.Setenv("REDLATCH_MODE", "lock")
	_, stdout, _ = finish(t, runner(srv, "a", "echo", "in"))
	require.Equal(t, "in\n", stdout, "an owner that holds nothing")
}

func TestTheCommandDoesNotGetThePassword(t *testing.T) {
	srv := redistest.Process(t)
	client := srv.Client(t)
	require.NoError(t, client.Do(t.Context(), "acl", "setuser", "ada", "on", ">secret", "~*", "&*", "+@all").Err())
	with := func(args ...string) *exec.Cmd {
		cmd := runner(srv, args...)
		cmd.Env = append(cmd.Env, connect.PasswordVariable+"=secret", connect.URLVariable+"=redis://ada:other-secret@"+srv.Addr)
		return cmd
	}
	code, stdout, stderr := finish(t, with("a", "env"))
	require.Zero(t, code, stderr)
	require.NotContains(t, stdout, "secret")
	require.Contains(t, stdout, connect.URLVariable+"=redis://ada@"+srv.Addr+"\n")

	cmd := with("a", "true")
	cmd.Env = append(cmd.Env, connect.PasswordVariable+"=wrong-secret")
	code, _, stderr = finish(t, cmd)
	require.Equal(t, exit.Denied, code)
	require.NotContains(t, stderr, "secret")

	require.NoError(t, client.Do(t.Context(), "acl", "setuser", "ada", "-eval", "-evalsha").Err())
	code, _, stderr = finish(t, with("a", "true"))
	require.Equal(t, exit.Denied, code, stderr)
}

func TestDescriptorsAboveStderrReachTheCommand(t *testing.T) {
	srv := redistest.Process(t)
	out, in, err := os.Pipe()
	require.NoError(t, err)
	cmd := runner(srv, "a", "-c", "echo three >&3")
	cmd.ExtraFiles = []*os.File{in}
	code, _, stderr := finish(t, cmd)
	require.Zero(t, code, stderr)
	require.NoError(t, in.Close())
	text, err := io.ReadAll(out)
	require.NoError(t, err)
	require.Equal(t, "three\n", string(text))
}

func TestALostLockEndsTheCommandAndIsToldOnce(t *testing.T) {
	srv := redistest.Process(t)
	file := filepath.Join(t.TempDir(), "result")
	cmd := runner(srv, "--lease", "3s", "--kill-after", "1s", "--result", file, "a", "-c", "trap 'echo asked; exit 0' TERM; echo; while :; do sleep 0.01; done")
	rest := begin(t, cmd)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Empty(t, text)
	_, err = rlock.New(srv.Client(t), "a").ForceUnlock(t.Context())
	require.NoError(t, err)
	said, err := io.ReadAll(rest)
	require.NoError(t, err)
	require.Equal(t, "asked\n", string(said))
	require.Error(t, cmd.Wait())
	require.Equal(t, exit.Lost, cmd.ProcessState.ExitCode())
	require.Equal(t, 1, strings.Count(cmd.Stderr.(*bytes.Buffer).String(), "redlatch run:"), cmd.Stderr) // a shell may say more
	require.Equal(t, "lost", outcome(t, file).Outcome)
	require.NotEmpty(t, outcome(t, file).Error)
}

func TestAGuardThatIsKilledTakesTheCommandWithIt(t *testing.T) {
	srv := redistest.Process(t)
	cmd := runner(srv, "a", "-c", "echo $PPID; sleep 1000 & exec sleep 1000")
	cmd.Stdout = nil
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	var guard int
	_, err = fmt.Fscan(out, &guard)
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(guard, syscall.SIGKILL))
	_, err = io.ReadAll(out) // until no descendant has it open
	require.NoError(t, err)
	require.Error(t, cmd.Wait())
	require.Equal(t, exit.Signalled+9, cmd.ProcessState.ExitCode())
	locked, err := rlock.New(srv.Client(t), "a").IsLocked(t.Context())
	require.NoError(t, err)
	require.False(t, locked)
}

// A lock that another process passes on lasts 10 s at first. With these terms the command has to be gone 21.2 s before the end
// of the trust, which would be before it has begun.
func TestARunThatWaitedHasItsWholeLease(t *testing.T) {
	srv := redistest.Process(t)
	client := srv.Client(t)
	hold, err := rlock.New(client, "a").Lock(t.Context())
	require.NoError(t, err)
	cmd := runner(srv, "--lease", "60s", "--kill-after", "20s", "a", "echo", "in")
	require.NoError(t, cmd.Start())
	redistest.Eventually(t, "a waiter in the process queue", func() bool {
		return client.ZCard(t.Context(), keys.LockRow("a")).Val() == 1
	})
	require.NoError(t, hold.Unlock(t.Context()))
	require.NoError(t, cmd.Wait(), "%s", cmd.Stderr)
	require.Equal(t, "in\n", cmd.Stdout.(*bytes.Buffer).String())
}

// A run that outlives one lease has renewed it.
func TestALongRunKeepsTheLock(t *testing.T) {
	srv := redistest.Process(t)
	start := time.Now()
	code, _, stderr := finish(t, runner(srv, "--lease", "2s", "a", "sleep", "3"))
	require.Zero(t, code, stderr)
	require.GreaterOrEqual(t, time.Since(start), 3*time.Second)
}

// The network is gone when the first renewal is due, and for a quarter of the lease. Without another one the command would be ended before
// its eighth second.
func TestARunSurvivesAShortOutage(t *testing.T) {
	srv := redistest.Process(t)
	proxy := faultproxy.New(t, srv.Addr)
	cmd := runner(srv, "--lease", "8s", "--url", "redis://"+proxy.Addr(), "a", "sleep", "8")
	require.NoError(t, cmd.Start())
	time.Sleep(2 * time.Second) // the renewal is due after 2.7 s
	proxy.Refuse(true)
	proxy.CutAll()
	time.Sleep(2 * time.Second)
	proxy.Refuse(false)
	require.NoError(t, cmd.Wait(), "%s", cmd.Stderr)
}
