package row_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/fencedlock"
	"github.com/redlatch/redlatch/internal/scripts/rlock"
	"github.com/redlatch/redlatch/internal/scripts/row"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/internal/test/statetest"
)

const (
	key      = "myLock"
	token    = "redisson_lock_token:{myLock}"
	line     = "redlatch_lock_row:{myLock}"
	alive    = "redlatch_lock_alive:{myLock}"
	open     = "redlatch_lock_open:{myLock}"
	windows  = "redlatch_lock_windows:{myLock}"
	channel  = "redisson_lock__channel:{myLock}"
	u, v, w  = "b983c153-7421-469a-addb-44fb92259a1b", "0c1a3fd6-5a9b-4b70-9a1f-1d1c35d0c1aa", "f7a6b2e4-30c5-4c7b-8d11-52a0e3a1b0cc"
	a, b, c  = u + ":42", v + ":43", w + ":44"
	lease    = 30 * time.Second
	long     = 90 * time.Second
	brief    = 10 * time.Second // the lease of a pass
	patience = time.Minute
	forever  = -time.Millisecond // what a reply says of a key without TTL
)

var rows = keys.LockRowKeys(key)

var wake = scripts.Wake{Publish: "PUBLISH", Channel: channel}

// A form is a kind of lock that has a row.
type form struct {
	name   string
	fenced bool
	sit    func(owner string, lease, patience time.Duration, looks bool) scripts.Command[row.Answer]
	pass   func(owner string, wake scripts.Wake, turn row.Turn) scripts.Command[row.Release]
}

func (f form) enlist(owner string, lease, patience time.Duration) scripts.Command[row.Answer] {
	return f.sit(owner, lease, patience, false)
}

// looks is enlist for an owner that cannot be passed the lock.
func (f form) looks(owner string, lease, patience time.Duration) scripts.Command[row.Answer] {
	return f.sit(owner, lease, patience, true)
}

var forms = []form{
	{"plain", false, func(owner string, lease, patience time.Duration, looks bool) scripts.Command[row.Answer] {
		return rlock.Enlist(key, owner, lease, rows, patience, looks)
	}, func(owner string, wake scripts.Wake, turn row.Turn) scripts.Command[row.Release] {
		return rlock.Pass(key, owner, wake, turn)
	}},
	{"fenced", true, func(owner string, lease, patience time.Duration, looks bool) scripts.Command[row.Answer] {
		return fencedlock.Counted.Enlist(key, token, owner, lease, rows, patience, looks)
	}, func(owner string, wake scripts.Wake, turn row.Turn) scripts.Command[row.Release] {
		return fencedlock.Counted.Pass(key, token, owner, wake, turn)
	}},
}

func TestTheKeysAreThoseOfTheLibrary(t *testing.T) {
	require.Equal(t, []string{token, channel}, []string{keys.FencingToken(key), keys.LockChannel(key)})
	require.Equal(t, []string{line, alive, open, windows}, rows)
}

// A stage is a server for what statetest cannot say: seats taken by the server's clock, and who listens.
type stage struct {
	*testing.T
	form
	srv    *redistest.Server
	client *redis.Client
	all    *redis.PubSub
	ears   []*redis.PubSub
}

// onStage runs fn for both kinds of lock, on both servers. The stage is empty.
func onStage(t *testing.T, fn func(s *stage)) {
	for _, server := range []struct {
		name  string
		start func(testing.TB) *redistest.Server
	}{{"miniredis", redistest.Mini}, {"redis", redistest.Watched}} {
		t.Run(server.name, func(t *testing.T) {
			for _, f := range forms {
				t.Run(f.name, func(t *testing.T) { fn(newStage(t, f, server.start(t))) })
			}
		})
	}
}

func newStage(t *testing.T, f form, srv *redistest.Server) *stage {
	s := &stage{T: t, form: f, srv: srv, client: srv.Client(t)}
	s.all = s.client.PSubscribe(t.Context(), "*") // a pattern is not counted among the subscribers of a channel
	t.Cleanup(func() { _ = s.all.Close() })
	_, err := s.all.ReceiveTimeout(t.Context(), 30*time.Second)
	require.NoError(t, err)
	return s
}

// clear empties the stage for the next scene.
func (s *stage) clear() {
	for _, ear := range s.ears {
		require.NoError(s, ear.Close())
	}
	s.ears = nil
	for _, session := range []string{u, v, w} {
		s.until("nobody listens", func() bool {
			counts, err := s.client.PubSubNumSub(s.Context(), line+":"+session).Result()
			return err == nil && counts[line+":"+session] == 0
		})
	}
	require.NoError(s, s.client.FlushAll(s.Context()).Err())
}

func (s *stage) until(what string, is func() bool) {
	s.Helper()
	for end := time.Now().Add(30 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			s.Fatalf("not within 30 s: %s", what)
		}
	}
}

func send[R any](s *stage, cmd scripts.Command[R]) R {
	s.Helper()
	got, err := statetest.Send(s.Context(), s.client, cmd)
	require.NoError(s, err)
	return got
}

// listen has the process of a session be there.
func (s *stage) listen(sessions ...string) {
	s.Helper()
	for _, session := range sessions {
		ear := s.client.Subscribe(s.Context(), line+":"+session)
		s.Cleanup(func() { _ = ear.Close() })
		_, err := ear.ReceiveTimeout(s.Context(), 30*time.Second)
		require.NoError(s, err)
		s.ears = append(s.ears, ear)
	}
}

// heard is what was published since it was last asked, as "channel text".
func (s *stage) heard() (messages []string) {
	s.Helper()
	require.NoError(s, s.client.Publish(context.Background(), "ending", "").Err())
	for {
		event, err := s.all.ReceiveTimeout(context.Background(), 30*time.Second)
		require.NoError(s, err)
		message := event.(*redis.Message)
		if message.Channel == "ending" {
			return messages
		}
		messages = append(messages, message.Channel+" "+message.Payload)
	}
}

// holds has an owner hold.
func (s *stage) holds(owner string, holds int) {
	s.Helper()
	require.NoError(s, s.client.HSet(s.Context(), key, owner, holds).Err())
	require.NoError(s, s.client.PExpire(s.Context(), key, lease).Err())
}

// sits has owners sit down, each known to be there for that long from now on.
func (s *stage) sits(there time.Duration, owners ...string) {
	s.Helper()
	for _, owner := range owners {
		now := s.now()
		seat := redis.Z{Score: float64(now.UnixMicro()), Member: owner}
		require.NoError(s, s.client.ZAdd(s.Context(), line, seat).Err())
		until := redis.Z{Score: float64(now.Add(there).UnixMilli()), Member: owner}
		require.NoError(s, s.client.ZAdd(s.Context(), alive, until).Err())
		s.until("the clock goes on", func() bool { return s.now().After(now) })
	}
}

// now is the server's clock.
func (s *stage) now() time.Time {
	s.Helper()
	now, err := s.client.Time(s.Context()).Result()
	require.NoError(s, err)
	return now
}

// row is who sits, in order.
func (s *stage) row() []string {
	s.Helper()
	owners, err := s.client.ZRange(s.Context(), line, 0, -1).Result()
	require.NoError(s, err)
	known, err := s.client.ZRange(s.Context(), alive, 0, -1).Result()
	require.NoError(s, err)
	require.ElementsMatch(s, owners, known, "the two sets")
	return owners
}

func (s *stage) hash() map[string]string {
	s.Helper()
	hash, err := s.client.HGetAll(s.Context(), key).Result()
	require.NoError(s, err)
	return hash
}

func (s *stage) ttl(name string) time.Duration {
	s.Helper()
	ttl, err := s.client.PTTL(s.Context(), name).Result()
	require.NoError(s, err)
	return ttl
}

// lasts tells whether ttl was set to want a short while ago.
func (s *stage) lasts(want, ttl time.Duration) {
	s.Helper()
	require.LessOrEqual(s, ttl, want)
	require.Greater(s, ttl, want-9*time.Second)
}
