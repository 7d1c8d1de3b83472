package redistest_test

import (
	"errors"
	"net"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/test/redistest"
)

func TestEachGivesAnEmptyServerThatExpiresKeysByItself(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		equal(t, srv.Real, srv.Mini == nil)
		equal(t, 0, len(srv.Keys(t)))
		client, key := srv.Client(t), srv.Key(t, "k")
		ok(t, client.Set(t.Context(), key, "v", 20*time.Millisecond).Err())
		eventually(t, "the key is gone", func() bool {
			return errors.Is(client.Get(t.Context(), key).Err(), redis.Nil)
		})
	})
}

func TestKeysAndFlushReachWhatIsNamedByKey(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		client, a, b := srv.Client(t), srv.Key(t, "a"), srv.Key(t, "a")
		if a == b {
			t.Fatalf("two calls of Key gave the same name %q", a)
		}
		queue := "queue:{" + b + "}"
		ok(t, client.MSet(t.Context(), a, 1, queue, 2).Err())
		equal(t, []string{a, queue}, slices.Sorted(slices.Values(srv.Keys(t))))
		srv.Flush(t)
		equal(t, 0, len(srv.Keys(t)))
		equal(t, int64(0), client.Exists(t.Context(), a, queue).Val())
	})
}

func TestForeignServerKeepsTheKeysOfOthers(t *testing.T) {
	process := redistest.Process(t)
	others := process.Client(t)
	ok(t, others.Set(t.Context(), "theirs", 1, 0).Err())

	t.Setenv("REDLATCH_REDIS_URL", "redis://"+process.Addr+"/0")
	t.Run("a test of its own", func(t *testing.T) {
		srv := redistest.Real(t)
		equal(t, process.Addr, srv.Addr)
		equal(t, 0, len(srv.Keys(t)))
		ok(t, srv.Client(t).Set(t.Context(), srv.Key(t, "ours"), 1, 0).Err())
		equal(t, 1, len(srv.Keys(t)))
	})
	equal(t, []string{"theirs"}, process.Keys(t)) // its own keys ended with the test
}

func TestCommandsCountsCallsOfScriptsToo(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		if srv.Real && os.Getenv("REDLATCH_REDIS_URL") != "" {
			t.Skip("others may use the server of REDLATCH_REDIS_URL, so an exact count says nothing there")
		}
		client := srv.Client(t)
		ok(t, client.Ping(t.Context()).Err())
		all, ping := srv.Commands(t), srv.CommandStats(t)["ping"]
		ok(t, client.Ping(t.Context()).Err())
		ok(t, client.Eval(t.Context(), "return redis.call('incr', KEYS[1])", []string{"n"}).Err())
		equal(t, int64(3), srv.Commands(t)-all) // ping, eval, incr
		equal(t, int64(1), srv.CommandStats(t)["ping"]-ping)
		equal(t, int64(1), srv.CommandStats(t)["incr"])

		ok(t, srv.Client(t).Ping(t.Context()).Err())
		equal(t, int64(4), srv.Commands(t)-all) // and not the set-up of a new connection
	})
}

func TestStoppedProcessExecutesWhatItWasSentOnceItContinues(t *testing.T) {
	srv := redistest.Process(t)
	client := srv.Client(t, func(o *redis.Options) { o.ReadTimeout, o.MaxRetries = time.Second, -1 })
	ok(t, client.Ping(t.Context()).Err())

	srv.Stop()
	var timeout net.Error
	if err := client.Incr(t.Context(), "n").Err(); !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Fatalf("a stopped server answered: %v", err)
	}
	srv.Continue()

	patient := srv.Client(t)
	eventually(t, "the late command is executed", func() bool { return patient.Get(t.Context(), "n").Val() == "1" })
}

func TestKilledProcessComesBackEmptyOnItsPort(t *testing.T) {
	srv := redistest.Process(t)
	client := srv.Client(t)
	ok(t, client.Set(t.Context(), "k", "v", 0).Err())
	srv.Stop()
	srv.Kill()
	_, err := net.Dial("tcp", srv.Addr)
	if err == nil {
		t.Fatal("a killed server accepts connections")
	}
	srv.Restart()
	is(t, client.Get(t.Context(), "k").Err(), redis.Nil)
	equal(t, 0, len(srv.Keys(t)))
}

func TestProcessToldToKeepDataHasItAfterRestart(t *testing.T) {
	srv := redistest.Process(t, "--appendonly", "yes", "--appendfsync", "always")
	ok(t, srv.Client(t).Set(t.Context(), "k", "v", 0).Err())
	srv.Restart()
	equal(t, "v", srv.Client(t).Get(t.Context(), "k").Val())
}

func TestWithoutAServerTheTestIsSkippedOrFailsWhereRequired(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("REDLATCH_SERVER", "")
	t.Setenv("REDLATCH_REDIS_URL", "")
	t.Setenv("REDLATCH_REQUIRE_REAL", "")
	equal(t, "skip", verdict(t))
	t.Setenv("REDLATCH_REQUIRE_REAL", "1")
	equal(t, "fatal", verdict(t))
}

// verdict asks for a real server on behalf of a test that only notes how it would have ended.
func verdict(t *testing.T) string {
	noted := &notingTB{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { _ = recover() }()
		redistest.Real(noted)
	}()
	<-done
	return noted.said
}

type notingTB struct {
	testing.TB
	said string
}

func (n *notingTB) Skip(...any)           { n.said = "skip"; panic(n) }
func (n *notingTB) Fatal(...any)          { n.said = "fatal"; panic(n) }
func (n *notingTB) Fatalf(string, ...any) { n.said = "fatalf"; panic(n) }
