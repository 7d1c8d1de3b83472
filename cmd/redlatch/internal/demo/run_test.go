package demo

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/test/redistest"
)

func small(tb testing.TB, without string) Config {
	return Config{
		Workers: 3, Jobs: 9, Permits: 2, Timeout: 30 * time.Second,
		Worker: workersWithout(tb, without), Watch: NewScreen(tb.Output()),
	}
}

func check(t *testing.T, r *Result, beginning string) Check {
	t.Helper()
	for _, c := range r.Checks {
		if strings.HasPrefix(c.Name, beginning) {
			return c
		}
	}
	t.Fatalf("there is no check %q in %v", beginning, r.Checks)
	return Check{}
}

func TestEverythingHoldsAlthoughAHolderIsKilled(t *testing.T) {
	each(t, func(t *testing.T, srv *redistest.Server) {
		c := small(t, "nothing")
		c.Kill = true
		c.URL = "redis://" + srv.Addr
		r, err := Run(t.Context(), c)
		require.NoError(t, err)
		require.True(t, r.OK, r.Reasons)
		require.Equal(t, c.Jobs, r.Numbers.JobsDone)
		require.Equal(t, 1, r.Numbers.Retaken)
		require.NotZero(t, r.Numbers.Victim)
		require.Positive(t, r.Numbers.TakeoverMS)
		require.Zero(t, r.Numbers.KeysLeft)
		left, err := srv.Client(t).Keys(t.Context(), "*"+namesOf(r.ID).tag+"*").Result()
		require.NoError(t, err)
		require.Empty(t, left)
	})
}

func TestTheEmbeddedServerIsEnough(t *testing.T) {
	c := small(t, "nothing")
	c.Workers, c.Jobs = 1, 2
	r, err := Run(t.Context(), c)
	require.NoError(t, err)
	require.True(t, r.OK, r.Reasons)
	require.True(t, r.Embedded)
}

// Without the lock the same work must be seen to go wrong, or the verdict is worth nothing.
func TestWorkersWithoutTheLockAreFoundOut(t *testing.T) {
	each(t, func(t *testing.T, srv *redistest.Server) {
		c := small(t, "lock")
		c.URL = "redis://" + srv.Addr
		r, err := Run(t.Context(), c)
		require.NoError(t, err)
		require.False(t, r.OK)
		require.False(t, check(t, r, "one at a time").OK)
		require.False(t, check(t, r, "no update").OK)
		require.NotEmpty(t, r.Reasons)
		require.True(t, check(t, r, "nothing left").OK)
	})
}

func TestWorkersWithoutTheSemaphoreAreFoundOut(t *testing.T) {
	c := small(t, "semaphore")
	c.Permits = 1
	r, err := Run(t.Context(), c)
	require.NoError(t, err)
	require.False(t, r.OK)
	require.False(t, check(t, r, "at most 1").OK)
	require.True(t, check(t, r, "one at a time").OK)
}

func TestWorkersThatCannotStartAreReported(t *testing.T) {
	c := small(t, "nothing")
	c.Worker = func() *exec.Cmd { return exec.Command(os.Args[0], "-no-such-flag") } // ends at once, and fails
	r, err := Run(t.Context(), c)
	require.NoError(t, err)
	require.False(t, r.OK)
	require.Equal(t, c.Workers, r.Numbers.Died)
	require.False(t, check(t, r, "every job").OK)
	require.False(t, check(t, r, "all started").OK)

	c.Worker = func() *exec.Cmd { return exec.Command("redlatch-there-is-no-such-program") }
	r, err = Run(t.Context(), c)
	require.ErrorContains(t, err, "start worker 1")
	require.False(t, r.OK)
}

func TestADemoThatTakesTooLongSaysSo(t *testing.T) {
	c := small(t, "nothing")
	c.Jobs, c.Timeout = 100, time.Second
	r, err := Run(t.Context(), c)
	require.NoError(t, err)
	require.False(t, r.OK)
	require.False(t, r.Interrupted)
	require.Contains(t, r.Reasons[0], "not finished within 1s")
	require.True(t, check(t, r, "nothing left").OK)
}

func TestADemoWhoseContextEndsCleansUp(t *testing.T) {
	srv := redistest.Mini(t)
	c := small(t, "nothing")
	c.URL = "redis://" + srv.Addr
	ctx, cancel := context.WithCancel(t.Context())
	c.Watch = onProgress{c.Watch, func(s Status) {
		if s.Done > 0 {
			cancel()
		}
	}}
	r, err := Run(ctx, c)
	require.NoError(t, err)
	require.True(t, r.Interrupted)
	require.False(t, r.OK)
	require.Empty(t, srv.Keys(t))
}

// onProgress is a Watcher that a test listens to.
type onProgress struct {
	Watcher
	fn func(Status)
}

func (o onProgress) Progress(s Status) { o.fn(s); o.Watcher.Progress(s) }

func TestAServerThatDoesNotAnswerIsNamed(t *testing.T) {
	c := small(t, "nothing")
	c.URL = "redis://:secret@127.0.0.1:1"
	r, err := Run(t.Context(), c)
	require.Nil(t, r)
	require.ErrorContains(t, err, "no answer from the server 127.0.0.1:1")
	require.NotContains(t, err.Error(), "secret")
}

func TestAServerThatWantsAPasswordIsNotCalledSilent(t *testing.T) {
	server := miniredis.RunT(t)
	server.RequireAuth("secret")
	for url, says := range map[string]string{"redis://": "NOAUTH", "redis://:guess@": "WRONGPASS"} {
		c := small(t, "nothing")
		c.URL = url + server.Addr()
		_, err := Run(t.Context(), c)
		require.ErrorContains(t, err, "the server "+server.Addr()+" refuses: "+says)
		require.ErrorContains(t, err, "password")
		require.NotContains(t, err.Error(), "guess")
	}
}

func TestAWorkerStartedByHandSaysWhoStartsIt(t *testing.T) {
	require.ErrorContains(t, Work(strings.NewReader("")), "redlatch demo")
	require.ErrorContains(t, Work(strings.NewReader("hello\n")), "cannot read")
}
