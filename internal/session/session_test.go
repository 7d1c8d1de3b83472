package session_test

import (
	"context"
	"fmt"
	"regexp"
	"runtime"
	"sync"
	"testing"
	"time"
	"weak"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/session"
	"github.com/redlatch/redlatch/internal/settings"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

// quick are settings under which nothing lingers.
func quick() *settings.Settings {
	s := settings.Defaults()
	s.Linger, s.LingerSet = 0, true
	return &s
}

// eventually collects garbage until done, or fails after a generous time.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !done(); {
		if time.Now().After(deadline) {
			t.Fatalf("still not seen: %s", what)
		}
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
}

// An idle client is never asked; it only has to be one.
func idle(t *testing.T) *redis.Client {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func TestOneClientHasOneSessionAndTwoHaveTwo(t *testing.T) {
	a, b := idle(t), idle(t)
	var wg sync.WaitGroup
	found := make([]*session.Session, 20)
	for i := range found {
		wg.Go(func() { found[i] = session.Of(a, quick()) })
	}
	wg.Wait()
	for _, s := range found {
		require.Same(t, found[0], s)
	}
	other := session.Of(b, quick())
	require.NotSame(t, found[0], other)
	require.NotEqual(t, found[0].ID, other.ID)
}

func TestAClientIsAClustersAsSoonAsTheProgramSaysSo(t *testing.T) {
	client, set := idle(t), quick()
	s := session.Of(client, set)
	require.Equal(t, s.Shard("a"), s.Shard("b"), "one server")
	require.NoError(t, session.Configure(client, "here", session.Cluster{}, session.Sharding(true)))
	require.Same(t, s, session.Of(client, set))
	require.NotEqual(t, s.Shard("a"), s.Shard("b"), "a script of several slots would be refused")
	_, err := s.KeyOf("a{}", set)
	require.ErrorIs(t, err, errs.Invalid)
	publish, err := s.Publish(t.Context())
	require.NoError(t, err)
	require.Equal(t, session.Sharded, publish)
}

func TestASessionGoesWithItsLastUserAndTheNextIsSomebodyElse(t *testing.T) {
	srv := redistest.Mini(t)
	client := srv.Client(t)
	use := func() (weak.Pointer[session.Session], string) {
		s := session.Of(client, quick())
		// Everything that a session starts has been in use: workers, a line, the hub, a lane.
		require.NoError(t, s.Dispatch.Do(t.Context(), "k", redis.NewIntCmd(context.Background(), "incr", "k"), 0))
		line, _, part := s.Join(cohort.KeyFor("k", "lock"), session.Channels{Releases: "channel"})
		require.NoError(t, line.WaitFor(t.Context(), time.Second, nil, done))
		part()
		s.ReturnLane("k", s.BorrowLane("k"))
		return weak.Make(s), s.ID
	}
	first, id := use()
	eventually(t, "the session collected", func() bool { return first.Value() == nil })
	_, next := use()
	require.NotEqual(t, id, next)
}

// A listing counts its calls.
type listing struct{ woken, heeded int }

func (l *listing) Wake()                { l.woken++ }
func (l *listing) Heed(session.Setting) { l.heeded++ }

// The path of every call passes there.
func TestAListingThatLooksByItselfIsNotCalled(t *testing.T) {
	l := new(listing)
	session.NewListing = func(*session.Session) session.Listing { return l }
	defer func() { session.NewListing = nil }()
	client := idle(t)
	require.NoError(t, session.Configure(client, "here", session.Label("web"), session.Linger(time.Second)))
	s := session.Of(client, quick())
	require.Equal(t, 1, l.heeded)
	join := func() {
		_, _, part := s.Join(cohort.KeyFor("k", "lock"), session.Channels{})
		part()
	}
	join()
	require.Equal(t, 1, l.woken)
	s.Listed.Store(true)
	join()
	require.Equal(t, 1, l.woken)
}

func done(context.Context) (cohort.Verdict, error) { return cohort.Verdict{Done: true}, nil }

// A wrapper is a client of the user's own. As a value it can be compared; with a list inside it cannot.
type wrapper struct{ *redis.Client }
type wrapped struct{ redis.UniversalClient }
type unhashable struct {
	*redis.Client
	hooks []string
}

func TestAComparableWrapperIsAClient(t *testing.T) {
	client := idle(t)
	require.Same(t, session.Of(wrapper{client}, quick()), session.Of(wrapper{client}, quick()))
}

func TestClientsThatCannotWorkAreRefusedWithASentence(t *testing.T) {
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "127.0.0.1:1"}})
	defer func() { _ = ring.Close() }()
	for name, test := range map[string]struct {
		client session.Client
		say    string
	}{
		"nil":                  {nil, "the redis client is nil; pass the result of redis.NewClient"},
		"a nil pointer":        {(*redis.Client)(nil), "the redis client is nil"},
		"a ring":               {ring, "use a cluster, or one client per server with redlock"},
		"a ring in a wrapper":  {struct{ redis.UniversalClient }{ring}, "use a cluster, or one client per server with redlock"},
		"a ring in two":        {&struct{ wrapped }{wrapped{ring}}, "use a cluster, or one client per server with redlock"},
		"one without identity": {unhashable{idle(t), nil}, "unhashable cannot be compared, so its locks could not find each other; pass a pointer to it"},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() { require.Contains(t, fmt.Sprint(recover()), test.say) }()
			session.Of(test.client, quick())
		})
	}
	session.Of(&unhashable{idle(t), nil}, quick()) // the advice works
}

func TestOwnersAreUniqueAndWellFormed(t *testing.T) {
	s := session.Of(idle(t), quick())
	uuid := `[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`
	form := regexp.MustCompile(`^` + uuid + `:[1-9][0-9]*$`)
	seen := sync.Map{}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 1000 {
				owner := s.NextOwner()
				if _, twice := seen.LoadOrStore(owner, true); twice || !form.MatchString(owner) {
					t.Errorf("owner %q: minted twice %v", owner, twice)
				}
			}
		})
	}
	wg.Wait()
}

func TestANameIsMappedAndChecked(t *testing.T) {
	single, cluster := session.Of(idle(t), quick()), idle(t)
	require.NoError(t, session.Configure(cluster, "here", session.Cluster{}))
	many := session.Of(cluster, quick())
	mapped := quick()
	mapped.Map = func(name string) string { return "app:" + name }
	nothing := quick()
	nothing.Map = func(string) string { return "" }
	for _, test := range []struct {
		s    *session.Session
		set  *settings.Settings
		name string
		key  string
		say  string
	}{
		{single, quick(), "orders", "orders", ""},
		{single, mapped, "orders", "app:orders", ""},
		{single, quick(), "a{b", "a{b", ""},
		{many, quick(), "{a}b", "{a}b", ""},
		{single, quick(), "", "", "the name is empty"},
		{single, mapped, "", "", "the name is empty"},
		{single, nothing, "orders", "", `the name mapper made "orders" empty`},
		{many, quick(), "a{b", "", "use no braces, or {tag} with something inside"},
	} {
		key, err := test.s.KeyOf(test.name, test.set)
		require.Equal(t, test.key, key)
		if test.say == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, errs.Invalid)
		require.ErrorContains(t, err, test.say)
	}
	require.Zero(t, single.Shard("foo"))
	require.Equal(t, 12182, many.Shard("foo"))
}

func TestALineIsOpenAsLongAsSomebodyIsInIt(t *testing.T) {
	srv := redistest.Mini(t)
	s := session.Of(srv.Client(t), quick())
	key := cohort.KeyFor("k", "lock")
	subscribers := func() int { return srv.Mini.PubSubNumSub("channel")["channel"] }
	first, _, partFirst := s.Join(key, session.Channels{Releases: "channel"})
	second, _, partSecond := s.Join(key, session.Channels{Releases: "channel"})
	require.Same(t, first, second)
	other, _, partOther := s.Join(cohort.KeyFor("k", "reader"), session.Channels{})
	require.NotSame(t, first, other)
	require.Zero(t, s.Waiters(key), "nobody waits yet")
	eventually(t, "the subscription", func() bool { return subscribers() == 1 })

	ctx, cancel := context.WithCancel(t.Context())
	asked, left := make(chan struct{}, 10), make(chan error)
	go func() {
		left <- first.WaitFor(ctx, time.Second, nil, func(context.Context) (cohort.Verdict, error) {
			asked <- struct{}{}
			return cohort.Verdict{Sleep: time.Hour}, nil
		})
	}()
	<-asked
	require.Equal(t, 1, s.Waiters(key))
	srv.Mini.Publish("channel", "0")
	<-asked // a message makes the head ask again
	cancel()
	require.ErrorIs(t, <-left, context.Canceled)
	partFirst()
	third, _, partThird := s.Join(key, session.Channels{Releases: "channel"})
	require.Same(t, second, third, "the second is still in line")
	partSecond()
	partThird()
	partOther()
	require.Zero(t, s.Waiters(key))
	require.Zero(t, s.Waiters(key))
	eventually(t, "the subscription gone", func() bool { return subscribers() == 0 })
}

func TestALaneIsLentToOneAtATimeAndItsNumbersAscend(t *testing.T) {
	s := session.Of(idle(t), quick())
	first, second := s.BorrowLane("k"), s.BorrowLane("k")
	require.NotEqual(t, first.Lane, second.Lane)
	require.Equal(t, first.Key, second.Key)
	require.NotEqual(t, first.Key, s.BorrowLane("other").Key)
	s.ReturnLane("k", first)
	again := s.BorrowLane("k")
	require.Equal(t, first.Lane, again.Lane)
	require.GreaterOrEqual(t, again.Seq, first.Seq+2, "the number between is for settling")
	s.ReturnLane("k", again)
	s.ReturnLane("k", second)
	require.Greater(t, s.BorrowLane("k").Seq, second.Seq, "also of a counter that was forgotten: the server may remember")
}

// routed has the form of redis.NewFailoverClusterClient, which asks the sentinels where this one knows.
func routed(t *testing.T, primary, replica string) *redis.ClusterClient {
	client := redis.NewClusterClient(&redis.ClusterOptions{
		RouteRandomly: true,
		ClusterSlots: func(context.Context) ([]redis.ClusterSlot, error) {
			return []redis.ClusterSlot{{End: 16383, Nodes: []redis.ClusterNode{{Addr: primary}, {Addr: replica}}}}, nil
		},
	})
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func TestAClientThatReadsFromTheReplicasOfOnePrimaryIsHeardByTheOthers(t *testing.T) {
	primary, replica := redistest.Replicated(t)
	s := session.Of(routed(t, primary.Addr, replica.Addr), quick())
	publish, err := s.Publish(t.Context())
	require.NoError(t, err)
	require.Equal(t, session.Classic, publish, "as those do who have a plain client of the same server, and Redisson")
	require.True(t, s.KnowsListeners())

	woken := make(chan struct{}, 10)
	confirmed, stop := s.Listen("channel", func(string) { woken <- struct{}{} }, func() {})
	defer stop()
	<-confirmed
	heard, err := primary.Client(t).Publish(t.Context(), "channel", "0").Result()
	require.NoError(t, err)
	require.EqualValues(t, 1, heard, "the primary counts it")
	<-woken
}
