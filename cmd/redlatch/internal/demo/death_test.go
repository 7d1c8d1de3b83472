package demo

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/test/redistest"
)

// killWhen runs a demo in which the first worker is killed, from outside, of whom its latest entry in the journal
// satisfies the condition.
func killWhen(t *testing.T, srv *redistest.Server, c Config, condition func(latest entry, all map[int]entry) bool) (r *Result, victim int) {
	t.Helper()
	c.URL = "redis://" + srv.Addr
	client := srv.Client(t)
	hire := c.Worker
	var processes []*exec.Cmd // worker 1 is the first
	c.Worker = func() *exec.Cmd {
		cmd := hire()
		processes = append(processes, cmd)
		return cmd
	}
	// Run starts the workers and tells the progress on one goroutine, this one.
	c.Watch = onProgress{c.Watch, func(Status) {
		if victim != 0 {
			return
		}
		keys, err := client.Keys(t.Context(), "*:journal").Result()
		require.NoError(t, err)
		require.Len(t, keys, 1)
		tag, _, _ := strings.Cut(keys[0], ":journal")
		journal, err := names{tag}.since(t.Context(), client, "0")
		require.NoError(t, err)
		latest := map[int]entry{}
		for _, e := range journal {
			latest[e.worker] = e
		}
		for w, e := range latest {
			if w != 0 && condition(e, latest) {
				victim = w
				require.NoError(t, processes[w-1].Process.Kill())
				return
			}
		}
	}}
	r, err := Run(t.Context(), c)
	require.NoError(t, err)
	require.NotZero(t, victim, "the moment to kill somebody never came")
	return r, victim
}

// A job takes an eighth of a second at least, so a worker that began one 50 ms ago at most is at it when it is killed.
func fresh(e entry) bool { return time.Since(time.UnixMilli(e.ms)) < 50*time.Millisecond }

// With the only permit gone, the others would wait for ever.
func TestThePermitOfAKilledWorkerIsGivenBack(t *testing.T) {
	each(t, func(t *testing.T, srv *redistest.Server) {
		c := small(t, "nothing")
		c.Workers, c.Jobs, c.Permits = 2, 5, 1
		r, victim := killWhen(t, srv, c, func(e entry, _ map[int]entry) bool { return e.kind == begin && fresh(e) })
		require.True(t, r.OK, r.Reasons)
		require.Equal(t, int64(1), r.Numbers.PermitsAtEnd)
		require.Equal(t, 1, r.Numbers.Died)
		require.Equal(t, 1, r.Numbers.Retaken)
		require.NotEqual(t, victim, r.Numbers.Victim, "nobody was killed on purpose")
	})
}

func TestTheJobOfAWorkerKilledWhileItWaitsIsDoneByAnother(t *testing.T) {
	srv := redistest.Mini(t)
	c := small(t, "nothing")
	c.Permits = 1 // so that somebody waits for it with a job in hand
	c.Jobs = 5
	// While another has just begun, the only permit cannot be the victim's: it waits.
	r, _ := killWhen(t, srv, c, func(e entry, all map[int]entry) bool {
		for _, other := range all {
			if e.kind == exit && other.kind == begin && fresh(other) {
				return true
			}
		}
		return false
	})
	require.True(t, r.OK, r.Reasons)
	require.Equal(t, c.Jobs, r.Numbers.JobsDone)
}

func TestAWorkerThatLostItsPresenceGivesUpItsJob(t *testing.T) {
	srv := redistest.Mini(t)
	c := small(t, "nothing")
	c.URL = "redis://" + srv.Addr
	taken := false
	c.Watch = onProgress{c.Watch, func(s Status) {
		if taken || s.Done == 0 {
			return
		}
		taken = true
		for _, key := range srv.Keys(t) {
			if strings.HasSuffix(key, ":present:1") {
				require.NoError(t, srv.Client(t).Del(context.Background(), key).Err())
			}
		}
	}}
	r, err := Run(t.Context(), c)
	require.NoError(t, err)
	require.True(t, taken)
	require.True(t, r.OK, r.Reasons)
	require.Equal(t, 1, r.Numbers.Died, "worker 1 was told that it lost its lock, and stopped")
	require.Equal(t, c.Jobs, r.Numbers.JobsDone)
}
